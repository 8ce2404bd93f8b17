#!/bin/sh
# Spares stand in where time does not pass as usual: tests/debug/spares.sh WHERE PROGRAM
# WHERE is gdb, valgrind, or quota: half a processor, by a cgroup. PROGRAM is unit_spares.
set -eu
where=$1
program=$2
tests="what_is_posted_from_outside_runs a_deadline_of_a_held_worker_is_met held_up_again_and_again"
work=$(mktemp -d)
group=
trap 'rm -rf "$work"; [ -z "$group" ] || rmdir "$group"' EXIT
export DEBUGINFOD_URLS= LC_ALL=C SHELL=/bin/sh THRUM_WORKERS=2

inside() { # COMMAND...: runs it in the group
    sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$@"
}

begin() { # the tests in a group of their own, which may use half a processor
    for root in /sys/fs/cgroup/cpu /sys/fs/cgroup; do
        group=$root/thrum-$$
        mkdir "$group" 2>"$work/log" || { group= && continue; }
        if [ -e "$group/cpu.cfs_quota_us" ]; then
            echo 50000 >"$group/cpu.cfs_quota_us" && inside true && return 0
        elif [ -e "$group/cpu.max" ]; then
            echo 50000 100000 >"$group/cpu.max" && inside true && return 0
        fi
        rmdir "$group"
        group=
    done
    echo "no group with a quota may be made here: $(cat "$work/log")"
    exit 77
}

case $where in
gdb)
    # Somebody who stops and continues processes stops none that gdb runs: gdb would stay there.
    held='handle SIGSTOP SIGCONT nostop noprint nopass'
    gdb -batch -nx -ex "$held" -ex run --args /bin/true >"$work/log" 2>&1 || true
    grep -q 'exited normally' "$work/log" || { echo "gdb may not run programs here"; exit 77; }
    for test in $tests; do
        gdb -batch -nx -ex "$held" -ex run --args "$program" "$test" >"$work/log" 2>&1 || true
        grep -q 'exited normally' "$work/log" || { cat "$work/log"; exit 1; }
    done
    ;;
valgrind)
    command -v valgrind >/dev/null || { echo "no valgrind here"; exit 77; }
    for test in $tests; do
        valgrind --tool=none --quiet "$program" "$test" # memcheck asks for a build of its own
    done
    ;;
quota)
    begin
    for test in $tests; do
        inside "$program" "$test"
    done
    ;;
esac
echo "under $where: $tests"
