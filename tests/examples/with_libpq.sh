#!/bin/sh
# examples/with_libpq with a PostgreSQL server of its own: tests/examples/with_libpq.sh BINARY
set -u
[ $# -eq 1 ] || { echo "usage: $0 BINARY" >&2; exit 2; }
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
[ -x "$bin/initdb" ] || { echo "left out: no PostgreSQL server (Debian: postgresql)" >&2; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/with_libpq.XXXXXX") || exit 1

# The server refuses to be root's.
as=
if [ "$(id -u)" = 0 ]; then
    user=$(id -un postgres 2>/dev/null) || user=nobody
    chown "$user" "$work" || exit 1
    as="setpriv --reuid=$user --regid=$(id -g "$user") --clear-groups"
fi

end() {
    [ ! -s "$work/data/postmaster.pid" ] || $as "$bin/pg_ctl" -D "$work/data" -m immediate -w stop >/dev/null
    rm -rf "$work"
}
trap end EXIT
trap 'exit 1' HUP INT TERM

cd "$work" || exit 1
$as "$bin/initdb" -D "$work/data" -U tester -A trust -N --locale=C >"$work/log" 2>&1 &&
    $as "$bin/pg_ctl" -D "$work/data" -w -t 86400 -l "$work/server" start \
        -o "-c listen_addresses='' -c unix_socket_directories=$work -c fsync=off" >>"$work/log" 2>&1 || {
    cat "$work/log" "$work/server" >&2
    exit 1
}

# The first host of these is not there: libpq goes on to the second, with another descriptor.
"$1" "host=$work/nowhere,$work dbname=postgres user=tester" || exit 1

# A server that is not there at all.
"$1" "host=$work/nowhere dbname=postgres user=tester" >"$work/out" 2>&1 && exit 1
grep -q '^with_libpq: ' "$work/out"
