#!/bin/sh
# Writes the library as two files, and uses them as a program would that takes them in:
#   amalgamation.sh C-COMPILER
# The same bytes twice, no path of ours, no warning; callers in C and C++.
set -eu
cc=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case $cc in
*clang*) cxx=clang++ ;;
*) cxx=g++ ;;
esac
command -v "$cxx" >/dev/null || cxx=

"$here/../../tools/amalgamate" --out "$work/again" &
again=$!
"$here/../../tools/amalgamate" --out "$work/one"
wait $again
cmp "$work/one/thrum.c" "$work/again/thrum.c"
cmp "$work/one/thrum.h" "$work/again/thrum.h"
if grep -lF -e "$(cd "$here/../.." && pwd)" "$work"/one/*; then
    echo "these have the path of the source in them"
    exit 1
fi

cd "$work"
"$cc" -std=gnu17 -O0 -DTH_CONTEXT_UCONTEXT=1 -c one/thrum.c -o ucontext.o &
ucontext=$!
# With and without assertions, since some functions are for them alone. The preset amalgamation compiles it as a release.
"$cc" -std=gnu11 -O0 -DNDEBUG -Wall -Wextra -Werror -fsyntax-only one/thrum.c
"$cc" -std=gnu11 -O1 -fPIC -Wall -Wextra -Werror -c one/thrum.c -o thrum.o
wait $ucontext
"$cc" -shared thrum.o -o libthrum.so -pthread
# Nothing of the inside is seen from without, but two marks that the linker makes.
if nm -D --defined-only libthrum.so | grep -v -e ' thrum_' -e ' __st[a-z]*_thrum_code$'; then
    echo "these are exported"
    exit 1
fi
for language in c99 c11 ${cxx:+c++17}; do
    compiler=$cc
    suffix=c
    [ "$language" != c++17 ] || compiler=$cxx suffix=cpp
    cp "$here/consumer.inc" consumer.$suffix
    for way in thrum.o ucontext.o libthrum.so; do
        printf '  %s, %s: ' "$language" "$way"
        "$compiler" -std=$language -Wall -Wextra -pedantic -Werror -Ione consumer.$suffix "$way" -o consumer -pthread \
            -Wl,-rpath,"$work"
        ./consumer
    done
done
