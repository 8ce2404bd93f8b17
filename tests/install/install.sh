#!/bin/sh
# Installs a build into a folder of its own and uses it as another project would:
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

# Before 1.0 the soname has the minor version in it: such a version may change the interface.
soname=libthrum.so.0.1

cmake --install "$build" --prefix "$work/first" >/dev/null
# A moved tree works like one that was never moved.
mv "$work/first" "$work/prefix"
prefix=$work/prefix
libdir=$(dirname "$(find "$prefix" -name libthrum.a)")
for file in "$prefix/include/thrum.h" "$prefix/include/thrum/base.h" \
    "$prefix/include/thrum/thrum.hpp" "$prefix/include/thrum/cpp/task.hpp" "$libdir/libthrum.a" \
    "$libdir/libthrum.so" "$libdir/$soname" "$libdir/pkgconfig/thrum.pc" \
    "$prefix/include/thrum-compat/marl/scheduler.h" "$libdir/pkgconfig/thrum-compat.pc"; do
    [ -f "$file" ] || { echo "not installed: $file"; exit 1; }
done
# The component tls, where it was built.
tls=
if [ -f "$build/libthrum-tls.a" ]; then
    tls=tls
    for file in "$prefix/include/thrum/tls.h" "$libdir/libthrum-tls.a" "$libdir/libthrum-tls.so" \
        "$libdir/libthrum-tls.so.0.1" "$libdir/pkgconfig/thrum-tls.pc"; do
        [ -f "$file" ] || { echo "not installed: $file"; exit 1; }
    done
elif [ "${CI:-}" = true ]; then
    echo "libthrum-tls must be there in CI"
    exit 1
fi
# The component mpi, where it was built.
mpi=
if [ -f "$build/libthrum-mpi.a" ]; then
    mpi=mpi
    mpicc=$(sed -n 's/^THRUM_MPICC:.*=//p' "$build/CMakeCache.txt")
    for file in "$prefix/include/thrum/mpi.h" "$libdir/libthrum-mpi.a" "$libdir/libthrum-mpi.so.0.1" \
        "$libdir/pkgconfig/thrum-mpi.pc" "$libdir/cmake/thrum/thrum-mpi-targets.cmake"; do
        [ -f "$file" ] || { echo "not installed: $file"; exit 1; }
    done
    if readelf -d "$libdir/libthrum.so" | grep -E 'NEEDED.*mpi'; then
        echo "libthrum.so needs MPI"
        exit 1
    fi
fi
# The test kit, where it was built: its names are in its own libraries only.
kit=
if [ -f "$build/libthrum-test.a" ]; then
    kit=kit
    for file in "$prefix/include/thrum/test.h" "$libdir/libthrum-test.a" "$libdir/libthrum-test-race.a" \
        "$libdir/libthrum-test-real.a" "$libdir/pkgconfig/thrum-test.pc" "$libdir/pkgconfig/thrum-test-race.pc" \
        "$libdir/pkgconfig/thrum-test-real.pc"; do
        [ -f "$file" ] || { echo "not installed: $file"; exit 1; }
    done
    if nm -g --defined-only "$libdir/libthrum.a" | grep -E ' (thrum_test|kit)_| malloc$'; then
        echo "libthrum.a has names of the test kit"
        exit 1
    fi
elif [ "${CI:-}" = true ]; then
    echo "libthrum-test must be there in CI"
    exit 1
fi
if readelf -d "$libdir/libthrum.so" | grep -E 'NEEDED.*(ssl|crypto)'; then
    echo "libthrum.so needs OpenSSL"
    exit 1
fi
objdump -p "$libdir/libthrum.so" | grep -q "SONAME *$soname\$" || { echo "no SONAME $soname"; exit 1; }
[ ! -e "$libdir/libthrum.so.0" ] || { echo "programs of other minor versions would find it"; exit 1; }

# The reference: a page for each function, and none that groff complains about.
if have python3; then
    man=$prefix/share/man
    for function in $(sed -n 's/.*<elf-symbol name=.\(thrum_[a-z_0-9]*\).*/\1/p' "$here/../../abi/thrum.abi"); do
        [ -f "$man/man3/$function.3" ] || { echo "no man page: $function"; exit 1; }
    done
    # The overview names each header, and its program runs.
    overview=$man/man7/thrum.7
    for header in $(cd "$prefix/include" && find thrum.h thrum -name '*.h' -o -name '*.hpp' | grep -v -e /windows/ -e /thrum.hpp); do
        grep -qxF ".B $header" "$overview" || { echo "not in thrum(7): $header"; exit 1; }
    done
    sed -n '/^#include <stdio/,/^int main/{s/\\(dq/"/g;p}' "$overview" >"$work/overview.c"
    "$cc" -I"$prefix/include" "$work/overview.c" "$libdir/libthrum.a" -lpthread -o "$work/overview"
    [ "$("$work/overview")" = "hello, world" ] || { echo "the program of thrum(7) fails"; exit 1; }
    [ -f "$prefix/share/doc/thrum/thrum.html" ] || { echo "not installed: thrum.html"; exit 1; }
    if have groff && (cd "$man" && groff -man -Tutf8 -ww man1/*.1 man3/*.3 man7/*.7) 2>&1 >/dev/null | grep .; then
        echo "groff complains"
        exit 1
    fi
fi

# A page for each tool.
for tool in "$prefix"/bin/*; do
    [ -f "$prefix/share/man/man1/$(basename "$tool").1" ] || { echo "no man page: $tool"; exit 1; }
done

# gdb's commands, in the libraries' debug information and beside them.
cmp "$here/../../tools/user/thrum-gdb.py" "$prefix/share/thrum/thrum-gdb.py"
for file in "$libdir/libthrum.a" "$libdir/libthrum.so"; do
    readelf -W -S "$file" | grep -q ' \.debug_gdb_scripts ' || { echo "gdb finds no script in $file"; exit 1; }
done

# The page of a trace is made by what is installed, too.
if have python3; then
    printf '{"traceEvents":[\n]}\n' >"$work/trace.json"
    "$prefix/bin/thrum-timeline" "$work/trace.json" >"$work/trace.html"
    cmp "$work/trace.html" - <<END
$("$here/../../tools/user/thrum-timeline" "$work/trace.json")
END
    [ "$(echo "    at nothing+0x12" | "$prefix/bin/thrum-names")" = "    at nothing+0x12" ]
fi

# Nothing that is installed tells where it was built. (A compiler's cache may have it from elsewhere.)
source=$(cd "$here/../.." && pwd)
for library in libthrum.a libthrum.so ${kit:+libthrum-test.a libthrum-test-race.a libthrum-test-real.a} ${tls:+libthrum-tls.a libthrum-tls.so}; do
    if readelf --debug-dump=info "$libdir/$library" 2>/dev/null |
        grep -m 1 'DW_AT_comp_dir.*: /'; then
        echo "$library was built there, and says so"
        exit 1
    fi
done
if grep -rlaF -e "$source" -e "$build" "$prefix"; then
    echo "these have the path of the source or of the build in them"
    exit 1
fi
# A program that needs a component alone finds libthrum as well: the linker writes down only what is used. Where the
# system looks anyway there is no path.
alone() { # COMPONENT COMPILER FUNCTION
    echo "int $3(void); int main(int n, char **names) { return n > 1 && names ? $3() : 0; }" >"$work/alone.c"
    "$2" "$work/alone.c" -o "$work/alone" -L"$libdir" -Wl,--as-needed,--enable-new-dtags,-rpath,"$libdir" "-l$1" -lthrum
    readelf -d "$work/alone" | grep -qF "[$soname]" && { echo "it needs $soname itself"; exit 1; }
    env -u LD_LIBRARY_PATH "$work/alone" || { echo "a program with $1 alone does not start"; exit 1; }
}
[ -z "$tls" ] || alone thrum-tls "$cc" thrum_tls_config_free
[ -z "$mpi" ] || alone thrum-mpi "$mpicc" thrum_mpi_stop
cmake -S "$source" -B "$work/system" -DCMAKE_C_COMPILER="$cc" -DCMAKE_INSTALL_PREFIX=/usr -DTHRUM_TESTS=OFF >"$work/log"
if grep -F ORIGIN "$work/system/cmake_install.cmake"; then
    echo "a library of the system has a path"
    exit 1
fi
export LD_LIBRARY_PATH="$libdir"

mkdir "$work/consumer"
cp "$here/consumer.inc" "$work/consumer/consumer.c"
cp "$here/consumer.inc" "$work/consumer/consumer.cpp"
cp "$here/consumer_io.inc" "$work/consumer/consumer_io.c"
cp "$here/consumer_io.inc" "$work/consumer/consumer_io.cpp"
cp "$here/consumer_hpp.inc" "$work/consumer/consumer_hpp.cpp"
cp "$here/../ports/marl_before.cpp" "$work/consumer/consumer_marl.cpp"
cp "$here/consumer_tls.inc" "$work/consumer/consumer_tls.c"
cp "$here/consumer_tls.inc" "$work/consumer/consumer_tls.cpp"
cp "$here/consumer_mpi.inc" "$work/consumer/consumer_mpi.c"
cp "$here/consumer_mpi.inc" "$work/consumer/consumer_mpi.cpp"
cp "$here/consumer_test.inc" "$work/consumer/consumer_test.c"
cp "$here/consumer_test.inc" "$work/consumer/consumer_test.cpp"
cp "$here/consumer_hpp_tls.inc" "$work/consumer/consumer_hpp_tls.cpp"
language=
have $cxx && language=CXX
sed "s/@CXX@/$language/g; s/@TLS@/$tls/g; s/@MPI@/$mpi/g" "$here/CMakeLists.txt.in" >"$work/consumer/CMakeLists.txt"

# Two ranks of a program, under the MPI that it is linked with.
two_ranks() {
    mpirun=mpich
    ldd "$1" | grep -q 'libmpi\.so' && mpirun=openmpi
    "$here/../mpi/run.sh" $mpirun 2 multiple "$1"
}

echo "find_package:"
(
    cd "$work/consumer"
    cmake -B build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
        -DCMAKE_CXX_COMPILER=$cxx ${mpi:+-DMPI_C_COMPILER="$mpicc"} >log 2>&1 && cmake --build build -j "${JOBS:-$(nproc)}" >>log 2>&1 || { cat log; exit 1; }
    for standard in c99 c11 ${language:+cxx17}; do
        for kind in shared static; do
            printf '  %s_%s: ' $standard $kind
            build/${standard}_$kind
            build/${standard}_${kind}_io
            [ -z "$tls" ] || build/${standard}_${kind}_tls
            [ -z "$mpi" ] || two_ranks build/${standard}_${kind}_mpi
        done
    done
    for suffix in ${kit:+c ${language:+cpp}}; do
        build/kit_${suffix}_test | grep '1000 schedules passed, .* distinct' || { echo "no test: kit_${suffix}_test"; exit 1; }
        build/kit_${suffix}_test_race | grep '1000 schedules passed, .* distinct'
        build/kit_${suffix}_test_real | grep 'runs passed in real time'
    done
    for kind in ${language:+shared static}; do
        build/cxx11_${kind}_marl | diff - "$here/../ports/marl.txt" || { echo "not as with marl: $kind"; exit 1; }
    done
    for program in ${language:+cxx17_shared_hpp cxx20_static_hpp
        ${tls:+cxx17_shared_hpp_tls cxx20_static_hpp_tls}}; do
        printf '  %s: ' $program
        build/$program
    done
)
if [ -z "$tls" ]; then
    sed -i 's/find_package(thrum 0.1 REQUIRED.*/find_package(thrum 0.1 REQUIRED COMPONENTS tls)/' \
        "$work/consumer/CMakeLists.txt"
    cmake -S "$work/consumer" -B "$work/consumer/none" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1 &&
        { echo "a component is found that is not there"; exit 1; }
fi
readelf -d "$work/consumer/build/c11_shared" | grep -qF "[$soname]" || { echo "c_shared is not"; exit 1; }
if readelf -d "$work/consumer/build/c11_static" | grep -q 'libthrum'; then
    echo "c_static is not"
    exit 1
fi

# As a part of another project it is built as that one says, or optimized if that says nothing.
echo "add_subdirectory:"
mkdir "$work/whole"
cat >"$work/whole/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(whole LANGUAGES C ASM)
add_subdirectory($source thrum)
END
part() { # NAME EXPECTED-OPTIMIZATION CMAKE-ARGUMENTS...
    name=$1
    expected=$2
    shift 2
    cmake -S "$work/whole" -B "$work/whole/$name" -DCMAKE_C_COMPILER="$cc" \
        -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "$@" >"$work/whole/$name.log" 2>&1 || { cat "$work/whole/$name.log"; exit 1; }
    command=$(grep '"command".*/src/core/worker/loop.c' "$work/whole/$name/compile_commands.json" | head -1)
    [ -n "$command" ] || { echo "loop.c is not compiled"; exit 1; }
    found=$(printf '%s\n' $command | grep -x -e '-O[0-3gs]*' | tail -1) || found=none
    printf '  %s: %s\n' "$name" "${found:-none}"
    [ "${found:-none}" = "$expected" ] || { echo "not $expected: $command"; exit 1; }
}
part no_build_type -O2
part flags_of_its_own -O1 "-DCMAKE_C_FLAGS=-O1"
part debug none -DCMAKE_BUILD_TYPE=Debug
part thread_sanitizer -O1 -DCMAKE_BUILD_TYPE=Debug -DTHRUM_SANITIZE=thread
part minsize -Os -DCMAKE_BUILD_TYPE=MinSizeRel

echo "dlclose:"
cp "$here/dlclose.inc" "$work/consumer/dlclose.c"
"$cc" $warnings -D_GNU_SOURCE -std=c11 -I"$prefix/include" "$work/consumer/dlclose.c" -o "$work/dlclose" -pthread -ldl
printf '  library: '
"$work/dlclose" "$libdir/libthrum.so"
readelf -d "$libdir/libthrum.so" | grep -q NODELETE || { echo "libthrum.so may be unloaded"; exit 1; }

have pkg-config || exit 0
if [ -n "$tls" ]; then
    printf '  pkg-config thrum-tls, shared: '
    "$cc" $warnings "$work/consumer/consumer_tls.c" -o "$work/tls" -std=c99 \
        $(PKG_CONFIG_PATH="$libdir/pkgconfig" pkg-config --cflags --libs thrum-tls)
    "$work/tls"
    readelf -d "$work/tls" | grep -qF '[libthrum-tls.so.0.1]' || { echo "it is not linked with libthrum-tls"; exit 1; }
    printf '  pkg-config thrum-tls, static: ' # OpenSSL itself may have no static libraries
    "$cc" $warnings "$work/consumer/consumer_tls.c" -o "$work/tls" -std=c11 -I"$prefix/include" \
        "$libdir/libthrum-tls.a" "$libdir/libthrum.a" \
        $(PKG_CONFIG_PATH="$libdir/pkgconfig" pkg-config --static --libs-only-l thrum-tls | sed 's/-lthrum-tls//; s/-lthrum\b//')
    "$work/tls"
    # One object is for both kinds of library.
    for one in ${language:+consumer_tls.cpp:c++17 consumer_tls.cpp:c++20 consumer_hpp_tls.cpp:c++20}; do
        file=${one%:*}
        standard=${one#*:}
        $cxx $warnings "$work/consumer/$file" -c -o "$work/tls.o" -std=$standard \
            $(PKG_CONFIG_PATH="$libdir/pkgconfig" pkg-config --cflags thrum-tls)
        printf '  pkg-config thrum-tls, shared, %s, %s: ' $file $standard
        $cxx "$work/tls.o" -o "$work/tls" $(PKG_CONFIG_PATH="$libdir/pkgconfig" pkg-config --libs thrum-tls)
        "$work/tls"
        printf '  pkg-config thrum-tls, static, %s, %s: ' $file $standard
        $cxx "$work/tls.o" -o "$work/tls" "$libdir/libthrum-tls.a" "$libdir/libthrum.a" \
            $(PKG_CONFIG_PATH="$libdir/pkgconfig" pkg-config --static --libs-only-l thrum-tls | sed 's/-lthrum-tls//; s/-lthrum\b//')
        "$work/tls"
    done
fi
export PKG_CONFIG_PATH="$libdir/pkgconfig"
if [ -n "$mpi" ]; then
    printf '  pkg-config thrum-mpi, %s: ' "$mpicc"
    "$mpicc" "$work/consumer/consumer_mpi.c" -o "$work/mpi" -std=c99 $(pkg-config --cflags --libs thrum-mpi)
    two_ranks "$work/mpi"
    readelf -d "$work/mpi" | grep -qF '[libthrum-mpi.so.0.1]' || { echo "it is not linked with libthrum-mpi"; exit 1; }
fi
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
    one ${standard}_io_shared "$cc" consumer_io.c -std=$standard $(pkg-config --cflags --libs thrum)
done
if [ -n "$kit" ]; then
    one kit_c99 "$cc" consumer_test.c -std=c99 $(pkg-config --cflags --libs thrum-test)
    ! ldd "$work/kit_c99" | grep libthrum
    one kit_c99_static "$cc" consumer_test.c -std=c99 -static $(pkg-config --cflags --libs thrum-test)
    one kit_c99_real "$cc" consumer_test.c -DREAL -std=c99 $(pkg-config --cflags --libs thrum-test-real)
    [ -z "$language" ] || one kit_cxx17 $cxx consumer_test.cpp -std=c++17 $(pkg-config --cflags --libs thrum-test)
    # Races: -fsanitize=thread for the compiler, but not for the linker. The program with one is found out.
    watched() { # NAME COMPILER FILE FLAGS...
        name=$1 compiler=$2 file=$3
        shift 3
        "$compiler" $warnings "$@" $(pkg-config --cflags thrum-test-race) -c "$work/consumer/$file" -o "$work/$name.o"
        "$compiler" "$work/$name.o" -o "$work/$name" $(pkg-config --libs thrum-test-race)
        "$work/$name"
    }
    watched kit_race_c99 "$cc" consumer_test.c -std=c99
    if ldd "$work/kit_race_c99" | grep -e libthrum -e libtsan; then exit 1; fi
    if watched kit_race_found "$cc" consumer_test.c -std=c99 -DRACE=1 >"$work/race.txt"; then exit 1; fi
    grep -q '^  race: nothing orders this' "$work/race.txt"
    grep -q '^  The accesses to count:' "$work/race.txt"
    [ -z "$language" ] || watched kit_race_cxx17 $cxx consumer_test.cpp -std=c++17
    # Wrong builds say so.
    "$cc" "$work/kit_race_c99.o" -o "$work/kit_wrong" $(pkg-config --libs thrum-test)
    if "$work/kit_wrong" 2>"$work/wrong.txt"; then exit 1; fi
    grep -q 'link with thrum::test_race' "$work/wrong.txt"
fi
if [ -n "$language" ]; then
    one cxx17_shared $cxx consumer.cpp -std=c++17 $(pkg-config --cflags --libs thrum)
    one cxx17_static $cxx consumer.cpp -std=c++17 -static $(pkg-config --static --cflags --libs thrum)
    # Each with the standard that it has not by CMake.
    one hpp_cxx20_shared $cxx consumer_hpp.cpp -std=c++20 $(pkg-config --cflags --libs thrum)
    one hpp_cxx17_static $cxx consumer_hpp.cpp -std=c++17 -static $(pkg-config --static --cflags --libs thrum)
    one marl_cxx11_shared $cxx consumer_marl.cpp -std=c++11 $(pkg-config --cflags --libs thrum-compat) | tail -1
    one marl_cxx20_static $cxx consumer_marl.cpp -std=c++20 -static $(pkg-config --static --cflags --libs thrum-compat) | tail -1
fi
