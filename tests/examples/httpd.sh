#!/bin/sh
# What examples/httpd promises: tests/examples/httpd.sh BINARY [TEST...]
# A BINARY for Windows (.exe) runs under wine, and Linux asks it.
set -u
[ $# -ge 1 ] || { echo "usage: $0 BINARY [TEST...]" >&2; exit 2; }
command -v python3 >/dev/null || { echo "left out: no python3" >&2; exit 77; }
case $1 in *.exe) bare= ;; *) bare=yes ;; esac # without standard streams, at a UNIX socket
[ $# -gt 1 ] || [ -z "$bare" ] || python3 "$(dirname "$0")/bare.py" "$1" -a HERE || exit 1
exec python3 -B "$(dirname "$0")/httpd/run.py" "$@"
