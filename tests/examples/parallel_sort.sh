#!/bin/sh
# parallel_sort prints what `LC_ALL=C sort` prints: tests/examples/parallel_sort.sh BINARY
set -u
export LC_ALL=C
[ $# -eq 1 ] || { echo "usage: $0 BINARY" >&2; exit 2; }
binary=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
sources=$(cd "$(dirname "$0")/../.." && pwd)/src
work=$(mktemp -d "${TMPDIR:-/tmp}/sort-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
failed=0

fail() {
    echo "FAILED: $*" >&2
    failed=1
}

# same FILE WHAT: sorts on every policy and some worker counts, by name and from the standard input.
same() {
    sort "$1" >"$work/expected"
    for policy in sharded fifo global; do
        for workers in 1 2 8; do
            THRUM_POLICY=$policy THRUM_WORKERS=$workers "$binary" "$1" >"$work/out" ||
                fail "$2, $policy, $workers workers: status $?"
            cmp "$work/expected" "$work/out" >&2 || fail "$2, $policy, $workers workers"
        done
    done
    "$binary" <"$1" >"$work/out" || fail "$2: status $?"
    cmp "$work/expected" "$work/out" >&2 || fail "$2, from the standard input"
}

# A real file is this library's sources, each line many times; odd ones follow.
find "$sources" -type f -name '*.[chS]' -exec cat {} + >"$work/real"
[ "$(wc -l <"$work/real")" -gt 10000 ] || fail "no sources"
same "$work/real" "the sources"
same "$0" "this script"
: >"$work/empty" && same "$work/empty" "an empty file"
printf '\n' >"$work/one" && same "$work/one" "one empty line"
printf 'b\na' >"$work/open" && same "$work/open" "no newline at the end"
head -c 300000 /dev/urandom | tr -d '\000' >"$work/bytes" && same "$work/bytes" "any bytes"
seq 60000 | sed 's/.*/same/' >"$work/same" && same "$work/same" "equal lines"
seq 60000 -1 1 >"$work/down" && same "$work/down" "numbers, downwards"

"$binary" "$work/absent" >"$work/out" 2>"$work/err" && fail "an absent file: status 0"
grep -q 'absent' "$work/err" || fail "an absent file: no message"
"$binary" "$work/real" >/dev/full 2>"$work/err" && fail "a full device: status 0"
exit $failed
