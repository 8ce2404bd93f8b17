#!/bin/sh
# What docs/debugging.md says of gdb: tests/debug/gdb-fibers.sh PROGRAM
# tools/gdb-fibers.py finds every fiber that waits, with all its calls, in a live program and in a core.
set -eu
program=$1
here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ "$(uname -m)" = x86_64 ] || { echo "not this processor"; exit 77; }
gdb -batch -ex 'python import gdb.unwinder' >"$work/log" 2>&1 && ! grep -q . "$work/log" ||
    { echo "no gdb with Python here"; exit 77; }
export DEBUGINFOD_URLS=

check() { # WHAT: three fibers wait, each with six calls of go_deep below its wait; a fourth for a pipe
    readers=$(grep -c '^  fiber 0x[0-9a-f]* a reader waits: TH_ON_SEM 0x' "$work/log" || true)
    calls=$(grep -c '^    #.* in go_deep (' "$work/log" || true)
    ends=$(grep -c '^    #.* th_context_entry ()' "$work/log" || true)
    pipes=$(grep -c '^  fiber 0x[0-9a-f]* a pipe waits: TH_ON_INPUT 0x[0-9a-f]* fd [0-9]*$' "$work/log" || true)
    echo "$1: $readers fibers, $calls calls, $ends ends, $pipes at a pipe"
    [ "$readers $calls $ends $pipes" = "3 18 4 1" ] || { cat "$work/log"; exit 1; }
}

cd "$work"
for guard in mprotect auto; do
    THRUM_GUARD=$guard gdb -batch -nx -ex run -ex "generate-core-file $guard.core" \
        -x "$here/tools/gdb-fibers.py" -ex 'thrum-fibers bt' "$program" >log 2>&1
    grep -q 'signal SIGABRT' log || { cat log; echo "gdb may not run programs here"; exit 77; }
    check "live, $guard"
done
gdb -batch -nx -x "$here/tools/gdb-fibers.py" -ex 'thrum-fibers bt' "$program" mprotect.core >log 2>&1
check "gdb's core, mprotect"
# Cores that gdb writes may lack stacks behind guards by madvise: then the tool must say so.
gdb -batch -nx -x "$here/tools/gdb-fibers.py" -ex 'thrum-fibers bt' "$program" auto.core >log 2>&1
grep 'stacks that cannot be read here' log || check "gdb's core, auto"
# Cores that the kernel writes are whole.
ulimit -c unlimited 2>/dev/null || exit 0
"$program" >/dev/null 2>&1 || true
for core in core*; do
    [ -f "$core" ] || break # it goes elsewhere: /proc/sys/kernel/core_pattern
    gdb -batch -nx -x "$here/tools/gdb-fibers.py" -ex 'thrum-fibers bt' "$program" "$core" >log 2>&1
    check "the kernel's core"
done
