#!/bin/sh
# What docs/debugging.md says of gdb: tests/debug/thrum-gdb.sh PART PROGRAM [SHARED]
# tools/user/thrum-gdb.py drives gdb, and what it prints is held against what tests/debug/waiting.c does.
# PROGRAM is that, with the static library; SHARED the same with the shared one. The parts:
#   words    the names of what is waited for are those of core/report/words.c
#   live     each command in a running program, and that it goes on unharmed; damaged lists
#   cores    in gdb's cores and the kernel's, with each kind of guard
#   found    gdb finds the script in the static and the shared library; one line where it cannot work
#   qemu     aarch64, by qemu's stub: PROGRAM is for aarch64, and EMULATOR runs it
set -eu
part=$1
program=$2
here=$(cd "$(dirname "$0")/../.." && pwd)
script=$here/tools/user/thrum-gdb.py
work=$(mktemp -d)
stub=
trap '[ -z "$stub" ] || kill "$stub" 2>/dev/null || true; rm -rf "$work"' EXIT
export DEBUGINFOD_URLS= LC_ALL=C SHELL=/bin/sh # by which gdb starts programs
# Somebody who stops and continues processes stops none that gdb runs: it would be told as a stop of the program's.
held="-ex 'handle SIGSTOP SIGCONT nostop noprint nopass'"
log=$work/log
cd "$work"

fails() {
    echo "$1"
    cat "$log"
    exit 1
}

has() { # PATTERN [COUNT]: lines like it; without COUNT at least one
    count=$(grep -c -e "$1" "$log" || true)
    if [ "$count" = 0 ] || { [ -n "${2:-}" ] && [ "$count" != "$2" ]; }; then
        fails "$count lines, not ${2:-any}, are like: $1"
    fi
}

hasnt() {
    ! grep -q -e "$1" "$log" || fails "there is a line like: $1"
}

need_gdb() {
    case $(uname -m) in
    x86_64 | aarch64) ;;
    *) echo "not this processor" && exit 77 ;;
    esac
    gdb -batch -nx -ex 'python import gdb.unwinder' >"$log" 2>&1 && ! grep -q . "$log" ||
        { echo "no gdb with Python here"; exit 77; }
    eval "gdb -batch -nx $held -ex run --args /bin/true" >"$log" 2>&1 || true
    grep -q 'exited normally' "$log" || { echo "gdb may not run programs here"; exit 77; }
}

# What is the same in a program and in a core of it.
commands="-ex 'thrum workers' -ex 'thrum fibers' -ex 'thrum fibers group' -ex 'thrum tasks' -ex 'thrum waits &mutex'
    -ex 'thrum waits chan' -ex 'thrum waits &event' -ex 'thrum waits &ready' -ex 'thrum scopes' -ex 'thrum bt all'"

all_is_told() { # WHAT
    hasnt 'Traceback\|Python Exception'
    hasnt '^thrum:'
    # workers
    has '^scheduler "busy" at 0x'
    has '^scheduler "idle" at 0x'
    has '^  worker 0, thread [0-9]* ([0-9]*), runs fiber [0-9.]* "main", fill, tick [0-9]*, 4 queued there$' 1
    has '^  worker 0, thread [0-9]* ([0-9]*), sleeps, tick [0-9]*$' 1
    # fibers
    has '^  fiber [0-9.]* "a reader", reader, waits for semaphore 0x[0-9a-f]*, since tick [0-9]* of worker 0' 3
    has '^  fiber [0-9.]* "a pipe", reads_pipe, reads fd [0-9]*, since' 1
    has '^  fiber [0-9.]* "a locker", locks, waits for mutex 0x[0-9a-f]*, held by fiber [0-9.]*, since' 2
    has '^  fiber [0-9.]* "the chooser", chooses, waits for channels, the first 0x' 1
    has '^  fiber [0-9.]* "the opener", opens, waits for scope 0x' 1
    has '^  fiber [0-9.]* "main", fill, runs on worker 0 (0x[0-9a-f]*)$' 1
    has '^  an external thread waits for task 0x' 1
    # group: the three readers are first
    has '^  3 fibers$' 1
    [ "$(grep -m 1 '^  [0-9]* fibers*$' "$log")" = '  3 fibers' ] || fails "the most are not first"
    has '^      at go_deep at .*waiting.c:[0-9]*$' 6
    # those in one call of the program's are together, whatever the library does for them
    has '^    fiber [0-9.]* "either" waits for rwlock to read ' 1
    sed -n '/^    fiber [0-9.]* "either" waits for rwlock to read /,+1p' "$log" | grep -q '"either" waits for rwlock to write ' ||
        fails "one call of the program's makes two groups"
    # tasks
    has '^  worker 0, pinned\( inbox\)*: 3$' 1
    has '^    3 x task of body$' 1
    has '^  worker 0, waiting to be due: [12]$' 1
    [ "$(grep -c 'thrum_go of queued$' "$log")" -ge 1 ] || fails "no queued task"
    has '^  nothing is queued$' 1
    # waits
    has '^mutex 0x[0-9a-f]*, held by fiber [0-9.]*$' 1
    has '^channel 0x[0-9a-f]*, 0 of 4 elements$' 1
    has '^  fiber [0-9.]* "a receiver" waits for channel to receive 0x' 1
    has '^  fiber [0-9.]* "the chooser" waits for channels' 1
    has '^nothing waits for 0x' 1
    # scopes
    has '^  scope 0x[0-9a-f]* of fiber [0-9.]* "the opener": 2 living, with a deadline$' 1
    has '^    task 0x[0-9a-f]* child on fiber [0-9.]*: waits for event 0x' 1
    has '^    task 0x[0-9a-f]* nests on fiber [0-9.]*: waits for scope 0x' 1
    has '^      scope 0x[0-9a-f]* of fiber [0-9.]*: 1 living' 1
    has '^        task 0x[0-9a-f]* child on fiber [0-9.]*: waits for event 0x' 1
    has '^  no scope is open$' 1
    # the calls of all 16 fibers, down to their ends
    has '^fiber [0-9.]* .*\(waits for\|reads\|runs on\) ' 16
    has '^#.* th_context_entry ()' 16
    echo "$1: all is told"
}

number_of() { # NAME: the number of the first fiber that is called so
    sed -n "s/^  fiber \([0-9.]*\) \"$1\".*/\1/p" "$log" | head -n 1
}

in_a_fiber() { # what follows `thrum bt N` and `thrum fiber N` of a reader, in the log
    hasnt 'Traceback\|Python Exception\|corrupt stack'
    hasnt '^thrum:'
    [ "$(grep -c '^#.* go_deep (' "$log")" -ge 12 ] || fails "calls are missing"
    [ "$(grep -c '^#.* th_context_entry ()' "$log")" -ge 2 ] || fails "a backtrace does not reach the fiber's end"
    has '^marked = 4700$\|^\$[0-9]* = 4700$'
    has '^\$[0-9]* = 4701$'
    has '^at the thread:.*\(raise\|kill\|abort\)'
}

gdb_on() { # WORDS, quoted for eval, on one line or several: gdb, its output in the log
    eval "gdb -batch -nx -ex 'set pagination off' -ex 'set width 0' $held $(echo "$1" | tr '\n' ' ')" >"$log" 2>&1 || true
}

same_registers() { # all that is printed twice is the same
    [ "$(grep '^[rx][a-z0-9]* *0x' "$log" | sort | uniq -c | grep -c -v '^ *2 ')" = 0 ] || fails "registers have changed"
}

inside="-ex 'bt' -ex 'print marked' -ex 'up' -ex 'print marked' -ex 'info locals' -ex 'thrum fiber'"

live() {
    gdb_on "-ex run -x '$script' $commands '$program'"
    all_is_told "live"
    reader=$(number_of "a reader")
    # The registers before and after, in the fiber and again in the thread.
    gdb_on "-ex run -x '$script' -ex 'info registers' -ex 'thrum bt $reader' -ex 'thrum fiber ${reader%.*}' $inside
        -ex 'thrum thread' -ex 'info registers' -ex 'echo at the thread: ' -ex 'backtrace 3'
        -ex 'thrum fiber $reader' -ex 'thrum fiber 0' -ex 'bt 1' -ex 'thrum fiber $reader' -ex 'continue' '$program'"
    in_a_fiber
    has 'Program terminated with signal SIGABRT'
    same_registers
    # It goes on from where it was left, with a fiber selected.
    gdb_on "-ex 'tbreak fill_queues' -ex run -x '$script' -ex 'thrum fiber $reader' -ex next -ex 'thrum fiber $reader'
        -ex stepi -ex 'thrum fiber $reader' -ex 'call (int)getpid()' -ex 'thrum fiber $reader' -ex 'continue' '$program'"
    has 'received signal SIGABRT'
    hasnt 'SIGSEGV\|SIGILL\|SIGBUS'
    # A fiber that is selected keeps the thread's registers from being changed.
    gdb_on "-ex run -x '$script' -ex 'info registers' -ex 'thrum fiber $reader' -ex 'set var \$rbx = 77' -ex 'set var \$x19 = 77'
        -ex 'set var \$rsp = 77' -ex 'print marked' -ex return -ex 'jump 1' -ex 'thrum fiber 0' -ex 'info registers' '$program'"
    has '^\$[0-9]* = 4700$' 1
    has 'registers stay as they are while a fiber is selected'
    has '^thrum: no `return` while a fiber is selected' 1
    has '^thrum: no `jump` while a fiber is selected' 1
    same_registers
    # What runs is its thread; what is not there is told in a line.
    gdb_on "-ex run -x '$script' -ex 'thrum fiber 999999' -ex 'thrum bt' -ex 'thrum waits nothing' -ex 'thrum fibers all' '$program'"
    has '^thrum: no task is on a fiber 999999 ' 1
    has '^thrum: `thrum bt FIBER`' 1
    has '^thrum: No symbol "nothing" in current context' 1
    has '^thrum: `thrum fibers` or' 1
    gdb_on "-x '$script' -ex 'thrum fibers' '$program'"
    has '^thrum: no program runs here' 1
    gdb_on "-ex 'break main' -ex run -x '$script' -ex 'thrum fibers' '$program'"
    has '^thrum: no scheduler is there yet' 1
    damaged
}

damaged() { # lists that lead in a cycle or to nothing end, with a line
    gdb_on "-ex run -x '$script' -ex 'set var ((th_waiter *)mutex.reserved_first)->next = mutex.reserved_first'
        -ex 'thrum waits &mutex' -ex 'set var ((th_waiter *)mutex.reserved_first)->next = (void *)16'
        -ex 'thrum waits &mutex'
        -ex 'set var ((th_work *)&tied[1])->next = (th_work *)&tied[0]' -ex 'set var ((th_work *)&tied[0])->next = (th_work *)&tied[1]'
        -ex 'thrum tasks'
        -ex 'set var ((th_work *)&tied[1])->kind = 77' -ex 'thrum tasks' '$program'"
    hasnt 'Traceback\|Python Exception'
    has '^  its list of waiters does not end: damaged after 1$' 1
    has '^  its list of waiters leads to 0x10: damaged after 1$' 1
    has '^    and what cannot be read: its list does not end: damaged after [23]$' 1
    has '^    and what cannot be read: 0x[0-9a-f]* is no work (kind 77)$' 1
    echo "damaged lists end"
}

core_is_told() { # CORE WHAT
    gdb_on "-x '$script' $commands '$program' $1"
    all_is_told "$2"
    reader=$(number_of "a reader")
    gdb_on "-x '$script' -ex 'thrum bt $reader' -ex 'thrum fiber $reader' $inside -ex 'thrum fiber 0'
        -ex 'echo at the thread: ' -ex 'backtrace 3' -ex 'thrum fiber $reader' -ex 'bt' '$program' $1"
    in_a_fiber
}

cores() {
    for guard in mprotect canary auto madvise; do
        export THRUM_GUARD=$guard
        gdb_on "-ex run -ex 'generate-core-file $guard.core' '$program'"
        if [ $guard = madvise ] && ! grep -q 'signal SIGABRT' "$log"; then
            echo "no guards by madvise here"
            continue
        fi
        [ -f $guard.core ] || fails "gdb writes no core"
        gdb_on "-x '$script' -ex 'thrum fibers' '$program' $guard.core"
        if grep 'stacks that cannot be read here' "$log"; then
            # Cores that gdb writes may lack stacks behind guards by madvise, and only behind these.
            case $guard in mprotect | canary) fails "$guard: stacks are missing" ;; esac
            gdb_on "-x '$script' -ex 'thrum workers' -ex 'thrum scopes' -ex 'thrum bt 5' '$program' $guard.core"
            has '^  worker 0, thread [0-9]* ([0-9]*), is on a stack that cannot be read here, tick ' 1
            hasnt 'is between tasks\|no scope is open'
            has '^thrum: no task is on a fiber 5 .*, but [0-9]* stacks cannot be read here'
        else
            core_is_told $guard.core "gdb's core, $guard"
        fi
    done
    # Cores that the kernel writes are whole.
    ulimit -c unlimited 2>/dev/null || exit 0
    for guard in mprotect canary auto madvise; do
        mkdir "$work/$guard"
        cd "$work/$guard"
        export THRUM_GUARD=$guard
        "$program" >/dev/null 2>&1 || true
        for core in core*; do
            [ -f "$core" ] || { echo "the kernel's core goes elsewhere: /proc/sys/kernel/core_pattern"; break; }
            core_is_told "$core" "the kernel's core, $guard"
            rm -f "$core"
        done
    done
}

found() {
    # In the static and the shared library, where gdb may load what a program brings.
    for one in "$program" "$shared"; do
        library=$(ldd "$one" | sed -n 's/.*=> \(.*libthrum\.so[^ ]*\) .*/\1/p')
        gdb_on "-iex 'set auto-load safe-path $(dirname "$(readlink -f "${library:-$one}")")' -ex run -ex 'thrum fibers' -ex 'thrum bt all' '$one'"
        has '^  fiber [0-9.]* "a reader", reader, waits for semaphore' 3
        has '^#.* th_context_entry ()' 16
        hasnt 'warning: .*auto-load'
    done
    # Elsewhere gdb says what to do, and loads nothing.
    gdb_on "-iex 'set auto-load safe-path /nowhere' -ex run -ex 'thrum fibers' '$program'"
    has 'auto-loading has been declined'
    has 'Undefined command: "thrum"'
    # It costs nothing at run time: no segment has it.
    readelf -W -S "$program" >"$log"
    has ' \.debug_gdb_scripts *PROGBITS *0000000000000000 .* MS '
    # Without debug information: one line. The script comes by hand then.
    strip -o stripped "$program"
    gdb_on "-ex run -x '$script' -ex 'thrum fibers' -ex 'thrum bt 1' stripped"
    has '^thrum: the library is not in this program, or is there without debug information (-g)$' 2
    hasnt 'Traceback\|Python Exception'
    echo "found by itself"
}

words() {
    sed -n 's/^ *\[\(TH_ON_[A-Z]*\)\] = \(".*"\),$/\1 \2/p' "$here/src/core/report/words.c" >of_c
    sed -n 's/^ *"\(TH_ON_[A-Z]*\)": \(".*"\),$/\1 \2/p' "$script" | head -n "$(wc -l <of_c)" >of_python
    [ -s of_c ]
    diff of_c of_python
    sed -n '/^typedef enum {$/,/^} th_on;$/s/^ *\(TH_ON_[A-Z]*\),.*/\1/p' "$here/src/core/basis/waiter_state.h" |
        grep -v KINDS >of_enum
    sed 's/ .*//' of_python | diff of_enum -
    echo "the words are the same"
}

qemu() {
    command -v gdb-multiarch >/dev/null || { echo "no gdb-multiarch here"; exit 77; }
    at=$work/stub
    each() { # WORDS: gdb on the program under the emulator
        rm -f "$at"
        $emulator -g "$at" "$program" >/dev/null 2>&1 &
        stub=$!
        until grep -q " 00010000 .* $at\$" /proc/net/unix; do # until it listens there
            kill -0 $stub || fails "no stub"
        done
        eval "gdb-multiarch -batch -nx $(echo "-ex 'set pagination off' -ex 'set width 0' -ex 'file $program'
            -ex 'target remote $at' -ex continue -x '$script' $1" | tr '\n' ' ')" >"$log" 2>&1 || true
        kill -9 $stub 2>/dev/null || true
        wait $stub 2>/dev/null || true
        stub=
    }
    each "$commands"
    all_is_told "aarch64, qemu's stub"
    reader=$(number_of "a reader")
    each "-ex 'thrum bt $reader' -ex 'thrum fiber $reader' $inside -ex 'thrum fiber 0'
        -ex 'echo at the thread: ' -ex 'backtrace 3' -ex 'thrum fiber $reader' -ex bt"
    in_a_fiber
}

case $part in
words) words ;;
live) need_gdb && live ;;
cores) need_gdb && cores ;;
found) shared=$3 && need_gdb && found ;;
qemu) shift 2 && emulator="$*" && qemu ;;
esac
