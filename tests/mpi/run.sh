#!/bin/sh
# Runs a test program of libthrum-mpi under an MPI: run.sh openmpi|mpich RANKS LEVEL PROGRAM TEST...
#   CHECK_MPI_TRANSPORT=tcp: Open MPI's messages go over TCP on the loopback, not through shared memory.
#   USER_IS=nobody: as a user that is not root, where this is root (77: it is not).
#   SURVIVORS=1: mpirun does not end the other ranks when one dies.
set -eu
mpi=$1
ranks=$2
export CHECK_MPI_LEVEL="$3" CHECK_MPI_TRANSPORT="${CHECK_MPI_TRANSPORT:-shm}"
shift 3
mpirun=$(command -v "mpirun.$mpi") || { echo "no mpirun.$mpi here"; exit 77; }

# As many ranks as are asked for, on however few processors, also as root; what the program is about is
# what it says, not where it is bound.
case $mpi in
openmpi)
    options="--oversubscribe --bind-to none"
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none \
        OMPI_MCA_plm_rsh_agent=false OMPI_MCA_rmaps_base_oversubscribe=1
    if [ "$CHECK_MPI_TRANSPORT" = tcp ]; then
        export OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=lo
    fi
    if [ "${SURVIVORS:-}" = 1 ]; then
        options="$options --enable-recovery"
    fi
    ;;
*)
    options=""
    if [ "${SURVIVORS:-}" = 1 ]; then
        # Its mpirun takes a death for the end of all, whatever it is told; so it sees a shell that ends well.
        options="-disable-auto-cleanup"
        set -- sh -c 'trap "" USR1; "$0" "$@" || exit 0' "$@"
    fi
    ;;
esac
# Both MPIs keep memory until the process ends, in plugins that are unloaded before it is counted, so that it could not
# be told by names then: leaks are looked for before MPI_Finalize (tests/support/ranks.h).
here=$(cd "$(dirname "$0")" && pwd)
export LSAN_OPTIONS="${LSAN_OPTIONS:+$LSAN_OPTIONS:}leak_check_at_exit=0:suppressions=$here/lsan.supp:print_suppressions=0"
# Neither MPI is instrumented: what its calls of the C library's touch is its own business.
export TSAN_OPTIONS="${TSAN_OPTIONS:+$TSAN_OPTIONS:}ignore_noninstrumented_modules=1:suppressions=$here/tsan.supp"
# A directory of its own: two runs of Open MPI make and remove one in /tmp, and one's mkdir can fail as the other's ends.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR="$work"
if [ -z "${USER_IS:-}" ]; then
    "$mpirun" $options -n "$ranks" "$@"
    exit
fi
if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
    echo "it takes root and setpriv to be another user"
    exit 77
fi
chown "$USER_IS" "$work"
unset OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
HOME=$work setpriv --reuid="$USER_IS" --regid="$(id -g "$USER_IS")" --clear-groups \
    "$mpirun" $options -n "$ranks" "$@"
