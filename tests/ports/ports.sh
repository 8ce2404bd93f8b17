#!/bin/sh
# Small programs of oneTBB's, Taskflow's and marl's users (NAME_before.cpp), and the same with thrum (NAME_after.cpp): both
# print NAME.txt. Those of libraries that are not here are left out; with thrum all are compiled and run, with C++17. Those of
# libraries with drop-in headers run with these, too (compat/).
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

port() { # NAME HEADER LINKER-FLAGS...
    name=$1
    header=$2
    shift 2
    "$cxx" -std=c++20 -fsyntax-only -Wall -Wextra -Werror -I"$here/../../include" "$here/${name}_after.cpp"
    "$cxx" -std=c++17 -Wall -Wextra -Werror -I"$here/../../include" "$here/${name}_after.cpp" "$library" -o "$work/after" -pthread
    "$work/after" >"$work/after.txt"
    diff "$here/$name.txt" "$work/after.txt"
    echo "#include <$header>" >"$work/there.cpp"
    if "$cxx" -std=c++20 -E "$work/there.cpp" >/dev/null 2>&1; then
        "$cxx" -std=c++20 "$here/${name}_before.cpp" -o "$work/before" "$@" -pthread
        "$work/before" >"$work/before.txt"
        diff "$here/$name.txt" "$work/before.txt"
        echo "$name: the same before and after"
    else
        echo "$name: no <$header> here: only the one with thrum was run"
    fi
}
library=$2
port tbb tbb/tbb.h -ltbb
port taskflow taskflow/taskflow.hpp
port marl marl/scheduler.h -lmarl

# The program as its library's user wrote it, with the headers of compat/.
drop_in() { # NAME STANDARD...
    name=$1
    shift
    for standard in "$@"; do
        "$cxx" -std=$standard -Wall -Wextra -Werror -I"$here/../../compat" -I"$here/../../include" "$here/${name}_before.cpp" \
            "$library" -o "$work/before" -pthread
        "$work/before" >"$work/before.txt"
        diff "$here/$name.txt" "$work/before.txt"
        echo "$name: the same with the drop-in headers, $standard"
    done
}
drop_in marl c++11 c++20
