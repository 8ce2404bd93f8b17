#!/bin/sh
# What ends a program of libthrum-mpi, or a rank of it: bad.sh openmpi|mpich PROGRAM
set -eu
here=$(dirname "$0")
mpi=$1
program=$2
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# One rank, or two; it must end with an error, and in time.
must_fail() {
    ranks=$1
    name=$2
    code=0
    timeout 60 "$here/run.sh" "$mpi" "$ranks" multiple "$program" "$name" >"$out" 2>&1 || code=$?
    [ "$code" != 77 ] || { cat "$out"; exit 77; }
    if [ "$code" = 0 ] || [ "$code" = 124 ]; then
        cat "$out"
        echo "$name: ended with $code"
        exit 1
    fi
}

must_say() {
    grep -q "$1" "$out" || { cat "$out"; echo "it does not say: $1"; exit 1; }
}

must_fail 1 finalize
must_say 'thrum: MPI_Finalize while 1 task waits for MPI; one waits for MPI receive from 0, tag 7, 4 bytes$'
# Both MPIs of Debian end the other ranks, or tell the wait, which then has ended.
must_fail 2 dies
must_fail 2 abort
