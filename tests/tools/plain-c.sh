#!/bin/sh
# The library is for C, with one thing in it for C++: the words of exceptions, which each fiber has for itself.
#   plain-c.sh C-COMPILER LIBTHRUM.A [LIBTHRUM.SO]
# Its objects have no names of C++'s and no tables of its exceptions, but a weak reference to what keeps the words; that
# costs a few hundred bytes; and a static program in C has nothing of C++ in it because of it.
set -eu
cc=$1
archive=$2
shared=${3:-}
source=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "$*" >&2
    exit 1
}

# What C++ calls its things, and what its exceptions are found by.
names='(^|[[:space:]])(_Z|__cxa_|__gxx_|__gcc_personality|_Unwind_|__cxxabi|DW\.ref)'
nm "$archive" 2>/dev/null >"$work/names"
grep -q ' T thrum_run$' "$work/names" || fail "nm does not read $archive"
grep -qE ' w __cxa_get_globals$' "$work/names" || fail "nothing in $archive asks for the words of exceptions"
grep -E "$names" "$work/names" | grep -vxE ' *w __cxa_get_globals' && fail "$archive has these names of C++'s"
objdump -h "$archive" | grep -q 'gcc_except_table' && fail "$archive has tables of exceptions"

# What is there for C++: 197 and 19 bytes with gcc 12 on x86-64.
nm -S -t d "$archive" 2>/dev/null | awk '$4 == "switch_with_exceptions" || $4 == "th_os_exceptions_at" { n++; sum += $2 }
    END { printf "the words of exceptions: %d bytes of code in two functions\n", sum
          if (n != 2 || sum > 400) { print "that is more, or they are not found"; exit 1 } }'

if [ -n "$shared" ]; then
    readelf -d "$shared" | grep NEEDED >"$work/needed"
    grep -E 'stdc\+\+|c\+\+|gcc_s|unwind' "$work/needed" && fail "$shared needs these"
    # The C library itself has the other two, for what is done at the end of a program.
    nm -D "$shared" | grep -E "$names" | grep -vE ' (w __cxa_get_globals$|[wU] __cxa_(atexit|finalize)@)' && fail "$shared has these names of C++'s"
fi

# The C library has some of these names itself: what counts is what thrum adds to them.
echo 'int main(void) { return 0; }' >"$work/empty.c"
"$cc" -O2 -static -pthread "$work/empty.c" -o "$work/empty" 2>/dev/null || { echo "no static C library here: the rest is left out"; exit 0; }
"$cc" -O2 -static -pthread -I"$source/include" "$source/examples/hello.c" "$archive" -o "$work/hello"
[ "$("$work/hello")" = "hello, world" ] || fail "hello says something else"
nm "$work/hello" | grep -E "$names" | sed 's/.* //' | grep -E '^(_Z|__gxx_|__cxa_(get_globals|throw|begin_catch|allocate))' &&
    fail "a program in C has these in it"
size "$work/empty" "$work/hello"
