#!/bin/sh
# The library in one file also links into programs that are optimized as a whole (LTO, by the compiler and by CMake) and that
# have gcc's thread sanitizer: links.sh. Without optimization, which would take most of the time: missing names show anyway.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
work=$(mktemp -d)
trap 'wait; rm -rf "$work"' EXIT
"$root/tools/amalgamate" --out "$work"
cp "$here/consumer.inc" "$work/consumer.c"
cd "$work"

linked() { # PROGRAM COMMAND...: by the command
    program=$1
    shift
    printf '  %s: ' "$*"
    if ! "$@" -o "$program" >said 2>&1; then
        cat said
        exit 1
    fi
    "./$program"
}

# In the amalgamation all declarations are hidden, and a hidden name is never another library's: the link fails, or, for a
# weak name, nothing is called. The marks of a section are the linker's.
own_names_only() { # OBJECT
    if readelf -sW "$1" | awk '$7 == "UND" && $6 != "DEFAULT" && $8 !~ /^__(start|stop)_thrum_code$/ { print; found = 1 }
            END { exit !found }'; then
        echo "$1: these must be declared TH_FOREIGN"
        exit 1
    fi
}

gcc -std=gnu11 -O0 -w -fsanitize=thread -c thrum.c -o tsan.o &
sanitized=$!
gcc -std=gnu11 -O0 -w -c thrum.c -o plain.o
own_names_only plain.o
wait $sanitized
own_names_only tsan.o
linked tsan gcc -w -I. -fsanitize=thread consumer.c tsan.o -pthread
linked lto gcc -std=gnu11 -O0 -w -I. -flto=auto consumer.c thrum.c -pthread
if ! command -v clang >/dev/null; then
    exit 0
fi
for lto in full thin; do
    linked lto_$lto clang -std=gnu11 -O0 -w -I. -flto=$lto consumer.c thrum.c -pthread
done
printf '  CMAKE_INTERPROCEDURAL_OPTIMIZATION: '
if ! { cmake -S "$root" -B ipo -DCMAKE_C_COMPILER=clang -DCMAKE_ASM_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_C_FLAGS_DEBUG=-O0 -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON -DTHRUM_AMALGAMATION=ON -DTHRUM_SHARED=OFF \
    -DTHRUM_TLS=OFF -DTHRUM_MPI=OFF -DTHRUM_TESTS=OFF -DTHRUM_EXAMPLES=OFF -DTHRUM_BENCH=OFF &&
    cmake --build ipo --target thrum_static && clang -I. -flto=thin consumer.c ipo/libthrum.a -o program -pthread; } \
    >said 2>&1; then
    cat said
    exit 1
fi
./program
