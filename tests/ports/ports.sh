#!/bin/sh
# A small program of oneTBB's, and the same with thrum: both are compiled and print the same.
#   ports.sh C-COMPILER THRUM-STATIC-LIBRARY
set -eu
here=$(cd "$(dirname "$0")" && pwd)
case $1 in
*clang*) cxx=clang++ ;;
*) cxx=g++ ;;
esac
command -v "$cxx" >/dev/null || { echo "no $cxx here"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo '#include <tbb/tbb.h>' >"$work/there.cpp"
"$cxx" -std=c++17 -fsyntax-only "$work/there.cpp" 2>/dev/null || { echo "no oneTBB here"; exit 77; }
"$cxx" -std=c++17 -O1 "$here/tbb_before.cpp" -o "$work/before" -ltbb -pthread
"$cxx" -std=c++17 -O1 -Wall -Wextra -Werror -I"$here/../../include" "$here/tbb_after.cpp" "$2" -o "$work/after" -pthread
"$work/before" >"$work/before.txt"
"$work/after" >"$work/after.txt"
cat "$work/after.txt"
[ "$(wc -l <"$work/after.txt")" = 2 ]
cmp "$work/before.txt" "$work/after.txt"
