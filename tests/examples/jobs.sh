#!/bin/sh
# What examples/jobs promises: tests/examples/jobs.sh BINARY
set -u
[ $# -eq 1 ] || { echo "usage: $0 BINARY" >&2; exit 2; }
work=$(mktemp -d "${TMPDIR:-/tmp}/jobs-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
failed=0

fail() {
    echo "FAILED: $*" >&2
    failed=1
}

# Outputs are whole and in order, whatever ends first. The first command waits for the last one.
mkfifo "$work/last"
cat >"$work/in" <<END
cat "$work/last"; echo first
echo second; echo and its error >&2
echo third
echo >"$work/last"
END
"$1" -j 2 "$work/in" >"$work/out" 2>"$work/err" || fail "status $?"
printf '\nfirst\nsecond\nand its error\nthird\n' >"$work/expected"
cmp -s "$work/out" "$work/expected" || fail "the order: $(cat "$work/out")"
[ ! -s "$work/err" ] || fail "it says: $(cat "$work/err")"

# From its input, many, more than there are places for.
seq 1 300 | sed 's/.*/echo &/' | "$1" -j 7 >"$work/out" || fail "many: status $?"
seq 1 300 | cmp -s - "$work/out" || fail "many"

# One that fails is the last, or not.
printf 'echo a\nexit 3\necho b\n' >"$work/in"
"$1" -j 1 <"$work/in" >"$work/out" 2>"$work/err"
[ $? -eq 1 ] || fail "status of a failure"
[ "$(cat "$work/out")" = a ] || fail "it goes on after a failure"
grep -q '^jobs: exit 3: status 3$' "$work/err" || fail "it does not say which: $(cat "$work/err")"
"$1" -j 1 -k <"$work/in" >"$work/out" 2>/dev/null
[ $? -eq 1 ] || fail "status of a failure, with -k"
[ "$(tr -d '\n' <"$work/out")" = ab ] || fail "it does not go on with -k"

# Ctrl-C: all that runs is killed, with what it has started; the fifo has no writer then.
mkfifo "$work/alive"
cat >"$work/in" <<END
trap '' INT TERM; sleep 1000 3>"$work/alive"
sleep 1000 & sleep 1000
echo never
END
sh -c 'trap - INT; exec "$0" -j 2 "$1"' "$1" "$work/in" >"$work/out" 2>"$work/err" &
jobs=$!
exec 4<"$work/alive" # returns when the first command has opened it
kill -INT $jobs
wait $jobs
status=$?
[ $status -eq 130 ] || [ $status -eq 143 ] || fail "status $status at SIGINT"
cat <&4 >/dev/null # ends when nobody has it open
[ ! -s "$work/out" ] || fail "it prints after Ctrl-C: $(cat "$work/out")"

"$1" "$work/none" >"$work/out" 2>"$work/err" && fail "a file that is not there"
grep -q '^jobs: ' "$work/err" || fail "no reason given"
exit $failed
