#!/bin/sh
# tools/user/thrum-names adds lines and inlined calls to a dump: tests/debug/thrum-names.sh PROGRAM
# PROGRAM is named.c's. A report of another build, and input that is no report, stay as they are.
set -eu
program=$1
here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v addr2line >/dev/null && command -v nm >/dev/null || { echo "no binutils here"; exit 77; }
names() { "$here/tools/user/thrum-names" "$@"; }
fail() { echo "$1"; cat "$work"/*.txt; exit 1; }
line='waits_inlined at [^ ]*named\.c:[0-9]*, inlined by waits_below at [^ ]*named\.c:[0-9]*'
cd "$work"

"$program" >dump.txt
names --in "$program" dump.txt >named.txt
grep -q "^    at [^ ]*+0x[0-9a-f]* (waits_below+0x[0-9a-f]*): $line\$" named.txt || fail "no lines in the text"
sed '/^    at /s/: .*//' named.txt >without.txt # libc's calls have lines, too, if its symbols are installed
cmp -s dump.txt without.txt || fail "more than lines was changed in the text"
names --in "$(dirname "$program")" <dump.txt | cmp - named.txt || fail "the folder was not searched"

"$program" json >json.txt
names --in "$program" json.txt >named.txt
python3 -m json.tool named.txt >/dev/null || fail "it is no JSON any more"
grep -q "(waits_below+0x[0-9a-f]*): $line\"" named.txt || fail "no lines in the JSON"

# The function stands elsewhere: another build.
sed 's/waits_below+0x/waits_below+0xf/' dump.txt >other.txt
names --in "$program" other.txt >named.txt 2>said.txt
grep -q 'another build' said.txt || fail "another build was trusted"
! grep -q "waits_inlined" named.txt || fail "lines of another build were added"

# A file that is not there, and files that are none of these.
for input in "$program" "$here/tools/user/thrum-names" /dev/null; do
    (cd / && names --in /nowhere "$input") >named.txt 2>said.txt
    cmp "$input" named.txt || fail "$input was changed"
done
printf '+0x1 (a+0x) ..+0x2 /+0x3 x+0xffffffffffffffffffff "x+0x1 \377 at a+0x0 (b+0x1' >odd.txt
names --in "$program" odd.txt >named.txt
cmp odd.txt named.txt || fail "odd text was changed"
python=$(python3 -c 'import sys; print(sys.executable)')
PATH=/nowhere "$python" "$here/tools/user/thrum-names" dump.txt >named.txt 2>said.txt
cmp dump.txt named.txt || fail "without addr2line the text was changed"
echo "lines are added, and nothing else changes"
