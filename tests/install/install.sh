#!/bin/sh
# Installs a build into a folder of its own and uses it as a stranger would:
#   install.sh BUILD-FOLDER C-COMPILER
# find_package and pkg-config, shared and static, as C99, C11 and C++17; from a folder that was moved.
set -eu
build=$1
cc=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
warnings="-Wall -Wextra -pedantic -Werror"

have() {
    if command -v "$1" >/dev/null; then
        return 0
    elif [ "${CI:-}" = true ]; then
        echo "$1 must be there in CI" >&2
        exit 1
    fi
    echo "no $1 here: that part is left out"
    return 1
}
case $cc in
*clang*) cxx=clang++ ;;
*) cxx=g++ ;;
esac

cmake --install "$build" --prefix "$work/first" >/dev/null
# A moved tree works like one that was never moved.
mv "$work/first" "$work/prefix"
prefix=$work/prefix
libdir=$(dirname "$(find "$prefix" -name libthrum.a)")
for file in "$prefix/include/thrum.h" "$prefix/include/thrum/base.h" "$libdir/libthrum.a" \
    "$libdir/libthrum.so" "$libdir/libthrum.so.0" "$libdir/pkgconfig/thrum.pc"; do
    [ -f "$file" ] || { echo "not installed: $file"; exit 1; }
done
objdump -p "$libdir/libthrum.so" | grep -q 'SONAME *libthrum.so.0$' || { echo "no SONAME"; exit 1; }
export LD_LIBRARY_PATH="$libdir"

mkdir "$work/consumer"
cp "$here/consumer.inc" "$work/consumer/consumer.c"
cp "$here/consumer.inc" "$work/consumer/consumer.cpp"
language=
have $cxx && language=CXX
sed "s/@CXX@/$language/g" "$here/CMakeLists.txt.in" >"$work/consumer/CMakeLists.txt"

echo "find_package:"
(
    cd "$work/consumer"
    cmake -B build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
        -DCMAKE_CXX_COMPILER=$cxx >log 2>&1 && cmake --build build >>log 2>&1 || { cat log; exit 1; }
    for standard in c99 c11 ${language:+cxx17}; do
        for kind in shared static; do
            printf '  %s_%s: ' $standard $kind
            build/${standard}_$kind
        done
    done
)
readelf -d "$work/consumer/build/c11_shared" | grep -q 'libthrum.so.0' || { echo "c_shared is not"; exit 1; }
if readelf -d "$work/consumer/build/c11_static" | grep -q 'libthrum'; then
    echo "c_static is not"
    exit 1
fi

have pkg-config || exit 0
export PKG_CONFIG_PATH="$libdir/pkgconfig"
echo "pkg-config, $(pkg-config --modversion thrum):"
one() { # NAME COMPILER FILE FLAGS...
    printf '  %s: ' "$1"
    program=$work/$1
    compiler=$2
    file=$3
    shift 3
    "$compiler" $warnings "$work/consumer/$file" -o "$program" "$@"
    "$program"
}
for standard in c99 c11; do
    one ${standard}_shared "$cc" consumer.c -std=$standard $(pkg-config --cflags --libs thrum)
    one ${standard}_static "$cc" consumer.c -std=$standard -static \
        $(pkg-config --static --cflags --libs thrum)
done
if [ -n "$language" ]; then
    one cxx17_shared $cxx consumer.cpp -std=c++17 $(pkg-config --cflags --libs thrum)
    one cxx17_static $cxx consumer.cpp -std=c++17 -static $(pkg-config --static --cflags --libs thrum)
fi
