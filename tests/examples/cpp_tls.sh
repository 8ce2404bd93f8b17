#!/bin/sh
# What examples/cpp_tls promises: it trusts whom it should, and says why not: tests/examples/cpp_tls.sh BINARY
set -u
[ $# -eq 1 ] || { echo "usage: $0 BINARY" >&2; exit 2; }
command -v openssl >/dev/null || { echo "left out: no openssl" >&2; exit 77; }
. "$(dirname "$0")/certificates.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/cpp-tls-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
failed=0
certificates "$work" || { echo "openssl makes no certificates" >&2; exit 1; }

said=$("$1" "$work/own.pem" "$work/own.key" "$work/ca.pem" a.test) || failed=1
[ "$said" = "a.test said hello, by TLSv1.3" ] || { echo "FAILED: it said: $said" >&2; failed=1; }
# Another host's certificate, and one that a stranger vouches for: the client ends both, and it says so.
for wrong in "ca.pem b.test" "others.pem a.test"; do
    if "$1" "$work/own.pem" "$work/own.key" "$work/${wrong% *}" "${wrong#* }" >"$work/out" 2>"$work/err"; then
        echo "FAILED: $wrong was trusted" >&2
        failed=1
    fi
    grep -q '^cpp_tls: ' "$work/err" && [ ! -s "$work/out" ] || { cat "$work/err" >&2; failed=1; }
done
exit $failed
