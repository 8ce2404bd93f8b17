#!/bin/sh
# thrum by Meson: as a subproject that a wrap file names, in C and C++, and installed: shared, from a folder of these
# sources; and static, from the archive and by the wrap file of `make dist`, so of what is committed, where this is a clone.
#   meson.sh C-COMPILER COMPILE-COMMANDS-OF-CMAKE
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
command -v meson >/dev/null && command -v ninja >/dev/null || { echo "no meson and ninja here"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CC="$1"
case $1 in
*clang*) CXX=clang++ ;;
*) CXX=g++ ;;
esac
export CXX
mkdir -p "$work/app/subprojects/packagefiles"
cp -r "$here/consumer.inc" "$work/app/consumer.c"
cp -r "$here/consumer.inc" "$work/app/consumer.cpp"
cp -r "$here/consumer_io.inc" "$work/app/consumer_io.c"
cp -r "$here/consumer_hpp.inc" "$work/app/consumer_hpp.cpp"
cp -r "$here/consumer_tls.inc" "$work/app/consumer_tls.c"
cp "$here/../ports/marl_before.cpp" "$work/app/consumer_marl.cpp"
cp -r "$here/consumer_hpp_tls.inc" "$work/app/consumer_hpp_tls.cpp"
# With TLS where OpenSSL is: an option, which is off where nobody asks for it.
tls=
if pkg-config --atleast-version=3 openssl; then
    tls=yes
elif [ "${CI:-}" = true ]; then
    echo "OpenSSL must be there in CI"
    exit 1
fi
# The sources, as an archive has them.
mkdir "$work/app/subprojects/thrum"
(cd "$source" && cp -r LICENSE meson.build meson_options.txt compat include src "$work/app/subprojects/thrum/")
mkdir -p "$work/app/subprojects/thrum/tools/user"
cp "$source/tools/user/thrum-gdb.py" "$work/app/subprojects/thrum/tools/user/"
cat >"$work/app/subprojects/thrum.wrap" <<'END'
[wrap-file]
directory = thrum

[provide]
dependency_names = thrum, thrum-compat, thrum-tls
END
cat >"$work/app/meson.build" <<'END'
project('app', 'c', 'cpp', default_options: ['cpp_std=c++17'])
thrum = dependency('thrum', version: '>=0.1')
test('c', executable('consumer_c', 'consumer.c', dependencies: thrum))
test('c++', executable('consumer_cpp', 'consumer.cpp', dependencies: thrum))
test('io', executable('consumer_io', 'consumer_io.c', dependencies: thrum))
test('hpp', executable('consumer_hpp', 'consumer_hpp.cpp', dependencies: thrum))
test('marl', executable('consumer_marl', 'consumer_marl.cpp', dependencies: dependency('thrum-compat')))
test('hpp 20', executable('consumer_hpp_20', 'consumer_hpp.cpp', dependencies: thrum, override_options: ['cpp_std=c++20']))
END
if [ -n "$tls" ]; then
    cat >>"$work/app/meson.build" <<'END'
thrum_tls = dependency('thrum-tls', version: '>=0.1')
test('tls', executable('consumer_tls', 'consumer_tls.c', dependencies: thrum_tls))
test('hpp tls', executable('consumer_hpp_tls', 'consumer_hpp_tls.cpp', dependencies: thrum_tls))
END
fi
run() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }; }
cd "$work/app"
for kind in shared static; do
    if [ $kind = static ] && git -C "$source" rev-parse HEAD >/dev/null 2>&1; then
        "$source/tools/release/dist" --out "$work/dist"
        rm -r subprojects/thrum
        cp "$work/dist/thrum.wrap" subprojects/
        cp "$work"/dist/thrum-*[0-9].tar.gz subprojects/packagefiles/
    fi
    run meson setup "$kind" --default-library=$kind --prefix="$work/$kind" ${tls:+-Dthrum:tls=enabled}
    run meson test -C "$kind" --print-errorlogs
    run meson install -C "$kind"
    echo "  subproject, $kind: ok"
done
[ ! -d "$work/dist" ] || ls -d subprojects/thrum-*[0-9]/src >/dev/null # it is the archive that was taken
libdir=$(dirname "$(find "$work/shared" -name 'libthrum.so.0.1')")
symbols() { nm -D --defined-only "$1" | awk '{ print $3 }' | sort; }
symbols "$libdir/libthrum.so" | grep -v -e '^thrum_.*@@THRUM_' -e '^THRUM_' && { echo "these are exported"; exit 1; }
if grep -rlaF -e "$work/app" "$work/shared/include" "$libdir/libthrum.so"; then
    echo "these have the path of the source or of the build in them"
    exit 1
fi
export PKG_CONFIG_PATH="$libdir/pkgconfig" LD_LIBRARY_PATH="$libdir"
"$CC" consumer.c -o consumer $(pkg-config --cflags --libs thrum)
./consumer
if [ -n "$tls" ]; then
    symbols "$libdir/libthrum-tls.so" | grep -v -e '^thrum_tls_.*@@THRUM_TLS_' -e '^THRUM_TLS_' && { echo "these are exported"; exit 1; }
    "$CC" consumer_tls.c -o consumer_tls $(pkg-config --cflags --libs thrum-tls)
    ./consumer_tls
    "$CXX" -std=c++17 consumer_hpp_tls.cpp -o consumer_hpp_tls $(pkg-config --cflags --libs thrum-tls)
    ./consumer_hpp_tls
    # A program that needs it alone finds libthrum as well: the linker writes down only what is used.
    echo "int thrum_tls_config_free(void); int main(int n, char **names) { return n > 1 && names ? thrum_tls_config_free() : 0; }" >alone.c
    "$CC" alone.c -o alone -Wl,--as-needed,--enable-new-dtags,-rpath,"$libdir" $(pkg-config --libs thrum-tls)
    env -u LD_LIBRARY_PATH ./alone
    echo "  TLS: ok"
fi
# Without the option there is nothing of it.
printf '%s\n' "project('app', 'c')" "executable('consumer', 'consumer.c', dependencies: dependency('thrum'))" >meson.build
run env PKG_CONFIG_PATH= meson setup plain --prefix="$work/plain" # else it takes the one above
run meson install -C plain
find "$work/plain" -name 'thrum.pc' | grep -q .
if find "$work/plain" -name '*tls*' | grep .; then
    echo "these are installed without TLS"
    exit 1
fi
# Both builds have the same files.
listed() { grep -o 'src/[a-z_0-9/]*\.[cS]$' | sort -u; }
if [ -n "${2:-}" ]; then
    [ -f "$2" ]
    sed -n 's/.*"file": "\(.*\)",*$/\1/p' "$2" | grep "^$source/src/" | grep -v -e '/tls/' -e '/mpi/' -e '/sim/' -e '/posix/' | listed >"$work/cmake.txt"
    sed -n 's/.*"file": "\(.*\)",*$/\1/p' shared/compile_commands.json | grep -v /tls/ | listed >"$work/meson.txt"
    diff "$work/cmake.txt" "$work/meson.txt"
fi
