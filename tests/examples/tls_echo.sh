#!/bin/sh
# What examples/tls_echo promises, also beside OpenSSL's own client and server: tests/examples/tls_echo.sh BINARY
set -u
[ $# -eq 1 ] || { echo "usage: $0 BINARY" >&2; exit 2; }
command -v openssl >/dev/null || { echo "left out: no openssl" >&2; exit 77; }
. "$(dirname "$0")/certificates.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/tls-echo-test.XXXXXX") || exit 1
server=
other=
trap 'kill $server $other 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
failed=0

fail() {
    echo "FAILED: $*" >&2
    head -5 "$work"/*.err >&2
    failed=1
}
certificates "$work" || { echo "openssl makes no certificates" >&2; exit 1; }

# port_in FILE: the port at the end of the first whole line that has one.
port_in() {
    [ ! -f "$1" ] || while IFS= read -r line; do
        case $line in *:[0-9]*) echo "${line##*:}" && break ;; esac
    done <"$1"
}

# begin FILE PROCESS: waits until the server has written its port into the new file; it becomes $port.
begin() {
    until port=$(port_in "$1") && [ -n "$port" ]; do
        kill -0 $2 2>/dev/null || { fail "no server: $1"; exit 1; }
        sleep 0.01
    done
}

"$1" serve tcp:127.0.0.1:0 "$work/own.pem" "$work/own.key" >"$work/server.out" 2>"$work/server.err" &
server=$!
begin "$work/server.out" $server

# Our own client.
printf 'one\ntwo\n\nfour' | "$1" ask "tcp:127.0.0.1:$port" a.test "$work/ca.pem" >"$work/ask.out" 2>"$work/ask.err" ||
    fail "status of the client"
printf 'one\ntwo\n\nfour\n' | cmp -s - "$work/ask.out" || fail "answers to the client"
grep -q '^TLSv1.3, TLS_.*, CN=own$' "$work/ask.err" || fail "what the client tells"
echo x | "$1" ask "tcp:127.0.0.1:$port" b.test "$work/ca.pem" >"$work/ask.out" 2>"$work/wrong.err" &&
    fail "another host"
grep -q 'mismatch' "$work/wrong.err" || fail "why not another host"
echo x | "$1" ask "tcp:127.0.0.1:$port" a.test "$work/others.pem" >"$work/ask.out" 2>"$work/wrong.err" &&
    fail "issued by another one"

# A file that is missing is named.
"$1" serve tcp:127.0.0.1:0 "$work/own.pem" "$work/nowhere.key" >/dev/null 2>"$work/wrong.err" && fail "no key"
grep -q 'nowhere.key: No such file' "$work/wrong.err" || fail "which file is missing"

# OpenSSL's client, of each version, 2 MB, which it sends while the answer comes.
head -c 2000000 /dev/urandom | od -An -v -tx1 >"$work/sent"
for version in -tls1_2 -tls1_3; do
    # Its input stays open until all is back: the end of it is the end of the connection.
    mkfifo "$work/in"
    openssl s_client $version -quiet -no_ign_eof -verify_return_error -verify_hostname a.test -CAfile "$work/ca.pem" \
        -connect "127.0.0.1:$port" <"$work/in" >"$work/back" 2>"$work/s_client.err" &
    other=$!
    exec 3>"$work/in"
    cat "$work/sent" >&3
    until [ "$(wc -c <"$work/back")" -ge "$(wc -c <"$work/sent")" ]; do
        kill -0 $other 2>/dev/null || break
        sleep 0.02
    done
    exec 3>&-
    wait $other
    other=
    rm "$work/in"
    cmp -s "$work/sent" "$work/back" || fail "openssl s_client $version"
done

# A session that is resumed. The client writes it anew for each ticket: a copy that has its end is whole.
for version in -tls1_2 -tls1_3; do
    printf 'x\n' | openssl s_client $version -sess_out "$work/session" -CAfile "$work/ca.pem" -ign_eof \
        -connect "127.0.0.1:$port" >"$work/first" 2>&1 &
    other=$!
    until cp "$work/session" "$work/whole" 2>/dev/null && grep -q 'END SSL SESSION' "$work/whole"; do
        kill -0 $other 2>/dev/null || break
        sleep 0.02
    done
    kill $other 2>/dev/null
    wait $other 2>/dev/null
    openssl s_client $version -sess_in "$work/whole" -CAfile "$work/ca.pem" -connect "127.0.0.1:$port" \
        </dev/null >"$work/second" 2>&1
    grep -q '^Reused' "$work/second" || fail "no session is resumed $version"
    rm -f "$work/session" "$work/whole"
done
other=

# The end.
kill -TERM $server
wait $server || fail "status of the server"
server=

# OpenSSL's server, which sends each line back, reversed.
for version in -tls1_2 -tls1_3; do
    rm -f "$work/s_server.out"
    openssl s_server $version -rev -accept 127.0.0.1:0 -cert "$work/own.pem" -key "$work/own.key" \
        >"$work/s_server.out" 2>"$work/s_server.err" </dev/null &
    other=$!
    begin "$work/s_server.out" $other
    printf 'drawer\nlived\n' | "$1" ask "tcp:127.0.0.1:$port" a.test "$work/ca.pem" >"$work/ask.out" \
        2>"$work/ask.err" || fail "status with openssl s_server $version"
    printf 'reward\ndevil\n' | cmp -s - "$work/ask.out" || fail "answers of openssl s_server $version"
    kill $other
    wait $other 2>/dev/null
    other=
done
exit $failed
