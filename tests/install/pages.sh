#!/bin/sh
# The commands that pages print for builds by hand work as they are printed: a plugin (docs/guide/rules.md), the two
# files (docs/packages.md), musl (docs/platforms.md). They are run without optimization, which would take most of the time.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tree"
(cd "$root" && cp -r CMakeLists.txt LICENSE cmake include src testkit tools "$work/tree/")
cd "$work/tree"
cp "$here/consumer.inc" app.c
cp "$here/dlclose.inc" dlclose.c

printed() { # PAGE BEGINNING: runs the indented lines from the one that begins so to the next empty one
    sed -n "/^ *$2/,/^\$/p" "$root/docs/$1" | sed 's/ -O2 / -O0 /; s/cmake -S \. /&-DCMAKE_C_FLAGS_RELEASE=-O0 /' >commands
    [ -s commands ] || { echo "$1 prints no $2"; exit 1; }
    cat commands
    sh -eu commands >said 2>&1 || { cat said; exit 1; }
}

cat >plugin.c <<'END'
#include <thrum.h>
void *const used[] = {(void *)thrum_sched_start, (void *)thrum_sched_stop, (void *)thrum_spawn_with, (void *)thrum_join};
END
printed guide/rules.md 'cmake .*STATIC_PIC'
cc -D_GNU_SOURCE -Iinclude dlclose.c -o dlclose -pthread -ldl
./dlclose ./plugin.so

tools/amalgamate --out .
printed packages.md 'cc .*-c thrum.c'
./a.out

command -v musl-gcc >/dev/null || { echo "musl-gcc is not installed: that part is skipped"; exit 0; }
rm -f app
printed platforms.md 'cmake .*musl'
./app
rm -f app thrum.o
printed platforms.md 'musl-gcc .*-c thrum.c'
./app
