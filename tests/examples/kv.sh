#!/bin/sh
# What examples/kv promises: tests/examples/kv.sh BINARY. The tests themselves are in kv.py.
set -u
[ $# -eq 1 ] || { echo "usage: $0 BINARY" >&2; exit 2; }
command -v python3 >/dev/null || { echo "left out: no python3" >&2; exit 77; }
python3 "$(dirname "$0")/bare.py" "$1" HERE || exit 1
PYTHONDONTWRITEBYTECODE=1 exec python3 "$(dirname "$0")/kv.py" "$1"
