#!/bin/sh
# What ends a program of libthrum-mpi, or a rank of it: bad.sh openmpi|mpich PROGRAM [shm|tcp RANKS...]
# With RANKS only a rank that dies or aborts, among so many; without, everything once.
set -eu
here=$(dirname "$0")
mpi=$1
program=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=$work/out
export RANKS="$work/ranks"

# Runs a test of bad.c with so many ranks, at $level, and keeps what it says. Each rank writes into a file of its own:
# an mpirun may mix the lines of several, and lose those of one that ends.
level=multiple
run() {
    ranks=$1
    name=$2
    code=0
    echo "== $name, $ranks ranks, $level, ${CHECK_MPI_TRANSPORT:-shm}${SURVIVORS:+, without mpirun's help}"
    rm -rf "$RANKS"
    mkdir "$RANKS"
    # shellcheck disable=SC2016 # each rank has its own
    timeout 200 "$here/run.sh" "$mpi" "$ranks" "$level" \
        sh -c 'exec "$0" "$@" >"$RANKS/$$" 2>&1' "$program" "$name" >"$work/mpirun" 2>&1 || code=$?
    cat "$work/mpirun" "$RANKS"/* >"$out" 2>/dev/null || true # no rank may have begun
    cat "$out"
    case $code in
    77) exit 77 ;;
    124) echo "$name: it does not end" && exit 1 ;;
    esac
}

must_fail() {
    run "$@"
    [ "$code" != 0 ] || { echo "$2: it has not failed"; exit 1; }
}

must_say() {
    grep -q "$1" "$out" || { echo "it does not say: $1"; exit 1; }
}

must_not_say() {
    ! grep -q "$1" "$out" || { echo "it says: $1"; exit 1; }
}

# Both MPIs end with words of their own, which their mpirun loses now and then. MPICH's code is the class of the
# failure: MPI_ERR_TRUNCATE, or MPI_ERR_IN_STATUS.
mpich_ends() {
    [ "$code" = 14 ] || [ "$code" = 17 ] || { echo "$name: its code is $code, not MPICH's"; exit 1; }
}

# The mpirun of both MPIs ends the other ranks, or MPI tells the wait, which then has ended.
a_rank_ends() {
    must_fail "$1" abort
    [ "$code" = 3 ] || { echo "abort: its code is $code, not MPI_Abort's"; exit 1; }
    must_fail "$1" dies
    must_fail "$1" dies_returning
    SURVIVORS=1 run "$1" survives
    # UCX, below MPICH, may not survive what it sees of a connection that has ended.
    case $mpi,${CHECK_MPI_TRANSPORT:-shm} in
    mpich,tcp) must_say 'rank 0 has stopped\|Assertion .*conn_state' ;;
    *) must_say 'rank 0 has stopped' ;;
    esac
}

if [ $# != 0 ]; then
    export CHECK_MPI_TRANSPORT=$1
    shift
    for n in "$@"; do
        a_rank_ends "$n"
    done
    exit
fi

a_rank_ends 2
for level in funneled serialized multiple; do
    must_fail 1 finalize
    must_say 'thrum: MPI_Finalize while 1 task waits for MPI; one waits for MPI receive from 0, tag 7, 4 bytes$'
    must_fail 2 finalize_several
    must_say 'thrum: MPI_Finalize while 3 tasks wait for MPI; one waits for MPI '
    must_fail 1 finalize_called
    must_say 'thrum: MPI_Finalize while 2 tasks wait for MPI; one waits for MPI '
    run 2 finalized
    must_say 'after MPI_Finalize'
    [ "$code" = 0 ] || { echo "finalized: it ends with $code"; exit 1; }
done

run 1 uninitialized
must_say 'before MPI_Init'
[ "$code" = 0 ] || { echo "uninitialized: it ends with $code"; exit 1; }
run 1 waits_in_a_call
must_say 'the wait in a call is over'
level=serialized
must_fail 1 waits_in_a_call
must_say 'thrum: thrum_mutex_lock: held by the caller already'
level=funneled
must_fail 1 waits_in_a_call
must_say 'thrum: a function under thrum_mpi_call waits for MPI receive from 0, tag 7, 4 bytes, and no call is made meanwhile$'
must_fail 1 stops_in_a_call
must_say 'thrum: a function under thrum_mpi_call calls thrum_mpi_stop, and no call is made meanwhile$'
level=multiple

must_fail 2 fails
must_not_say 'goes on'
[ "$mpi" != mpich ] || mpich_ends

case $mpi in
openmpi)
    run 2 fails_in_a_communicator
    must_say 'rank 0 goes on: short receive: MPI: MPI_ERR_TRUNCATE: '
    ;;
*) # where this fails, mpi.md and thrum/mpi.h say too little of MPICH
    must_fail 2 fails_in_a_communicator
    mpich_ends
    must_not_say 'goes on'
    ;;
esac
