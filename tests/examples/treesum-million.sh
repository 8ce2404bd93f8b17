#!/bin/sh
# A million small files in less than 256 MiB: tests/examples/treesum-million.sh BINARY
#
# Half of them are in one directory, which does not fit into one window, half in 500 others; beside
# them are 20,000 empty directories and a chain of 1900. It takes 700 MB of disk and some minutes.
set -eu
export LC_ALL=C
[ $# -eq 1 ] || { echo "usage: $0 BINARY" >&2; exit 2; }
treesum=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
limit_kib=262144
work=$(mktemp -d "${TMPDIR:-/tmp}/treesum-million.XXXXXX")
trap 'cd / && rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$work"

echo "making a million files in $work"
mkdir -p tree/one tree/many/000
# The names are long, so that the half million takes more than a window.
(cd tree/one && seq -f 'a-file-with-a-name-of-some-length-%06.0f' 500000 | xargs touch)
seq 1000 | split -l 1 -a 3 - tree/many/000/f.
i=1
while [ $i -lt 500 ]; do # links to the same files: each name is hashed all the same
    cp -rl tree/many/000 "tree/many/$(printf %03d $i)"
    i=$((i + 1))
done
mkdir tree/empty
(cd tree/empty && seq -f 'directory-%05.0f' 20000 | xargs mkdir)
mkdir -p "tree/chain/$(yes d | head -n 1900 | paste -s -d /)"
[ "$(find tree -type f | wc -l)" -eq 1000000 ] || { echo "not a million files" >&2; exit 1; }

status=0
for mode in --serial --workers=1 --workers=2 --workers=64; do
    "$treesum" --stats $mode tree >out.$mode 2>stats || {
        echo "FAILED: $mode: status $?" >&2
        cat stats >&2
        exit 1
    }
    kib=$(sed -n 's/^peak_rss_kib  *//p' stats)
    echo "$mode: $(sed -n 's/^seconds  *//p' stats) s, $kib KiB"
    [ "$kib" -lt $limit_kib ] || {
        echo "FAILED: $mode took $kib KiB, the limit is $limit_kib" >&2
        status=1
    }
    cmp out.--serial "out.$mode" || status=1
done
[ "$(wc -l <out.--serial)" -eq 1000000 ] || { echo "FAILED: not a million lines" >&2; status=1; }
sed -n '1~1000p' out.--serial | sha256sum -c --quiet || status=1
exit $status
