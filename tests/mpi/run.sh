#!/bin/sh
# Runs a test program of libthrum-mpi under an MPI: run.sh openmpi|mpich RANKS LEVEL PROGRAM TEST...
#   USER_TOO=1: once more as a user that is not root, where this is root.
set -eu
mpi=$1
ranks=$2
export CHECK_MPI_LEVEL="$3"
shift 3
mpirun=$(command -v "mpirun.$mpi") || { echo "no mpirun.$mpi here"; exit 77; }

# As many ranks as are asked for, on however few processors, also as root; what the program is about is
# what it says, not where it is bound.
case $mpi in
openmpi)
    options="--oversubscribe --bind-to none"
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none \
        OMPI_MCA_plm_rsh_agent=false OMPI_MCA_rmaps_base_oversubscribe=1
    ;;
*) options="" ;;
esac
# Both MPIs keep memory until the process ends, in plugins that are unloaded before it is counted, so that it cannot
# be told by names. What our side takes for a scheduler is counted by the rig.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
"$mpirun" $options -n "$ranks" "$@"
if [ "${USER_TOO:-}" = 1 ] && [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    home=$(mktemp -d)
    trap 'rm -rf "$home"' EXIT
    chown 65534:65534 "$home"
    unset OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
    HOME=$home TMPDIR=$home setpriv --reuid=65534 --regid=65534 --clear-groups \
        "$mpirun" $options -n "$ranks" "$@"
fi
