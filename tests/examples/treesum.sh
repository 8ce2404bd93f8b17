#!/bin/sh
# shellcheck disable=SC2317,SC2086,SC3045,SC2016,SC1003
# What treesum promises, on trees made for it: tests/examples/treesum.sh BINARY [TEST...]
# Output is compared byte for byte with that of find, sort and sha256sum. A BINARY for Windows (.exe) runs under wine;
# without names of tests those are left out that want what it has not: links, backslashes in names, signals, limits.
set -u
export LC_ALL=C
[ $# -ge 1 ] || { echo "usage: $0 BINARY [TEST...]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
treesum=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
shift
work=$(mktemp -d "${TMPDIR:-/tmp}/treesum-test.XXXXXX") || exit 1
cleanup() {
    cd / && chmod -R u+rwx "$work" 2>/dev/null
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM
cd "$work" || exit 1
mkdir out tree
failed=0
wine=
levels=300
all="same_bytes windows few_files_open few_threads odd_names utf8_names arguments command_line stats links unreadable vanishing
    deep wide write_errors signals progress"
case $treesum in
*.exe)
    wine=yes
    printf '#!/bin/sh\nLC_ALL=C.UTF-8 exec "%s/../../tools/run/wine" "%s" "$@"\n' "$here" "$treesum" >run
    chmod +x run
    treesum=$work/run
    all="same_bytes windows few_threads utf8_names command_line stats vanishing deep wide write_errors"
    levels=18 # wine is held to paths that are shorter than PATH_MAX
    ;;
esac

fail() {
    echo "FAILED: $*" >&2
    failed=1
}

# run STATUS ARGS...: runs treesum into out/1 and out/2; it must end with that status.
run() {
    expected=$1
    shift
    "$treesum" "$@" >out/1 2>out/2
    status=$?
    [ $status -eq "$expected" ] || {
        fail "treesum $*: status $status, not $expected"
        head -5 out/2 >&2
    }
}

# same FILE FILE WHAT
same() {
    cmp "$1" "$2" >&2 || {
        fail "$3"
        diff "$1" "$2" | head -5 >&2
    }
}

silent() { [ ! -s out/2 ] || { fail "$1: stderr is not empty"; head -5 out/2 >&2; }; }
errors() { printf '%s' "$1" >out/expected-2; same out/expected-2 out/2 "$2: stderr"; }

# Sorts paths on stdin, each ended by a zero byte, into tree order: a slash sorts before everything.
tree_order() { tr '/' '\001' | sort -z | tr '\001' '/'; }

# reference FIND-ARGS: prints what the output should be.
reference() { find "$@" -type f -print0 | tree_order | xargs -0 -r sha256sum --; }

# ---- a tree with everything that is not strange ----

make_tree() {
    mkdir -p tree/empty tree/a/b/c tree/a.b tree/a-b tree/z
    for name in a.b/1 a-b/2 a/b/c/3 a/b/4 z/five 0; do
        echo "content of $name" >tree/$name
    done
    : >tree/z/nothing
    seq 400 | split -l 1 -a 3 - tree/a/b/many.
    for i in 1 2 3 4 5 6 7 8 9; do
        for j in 1 2 3 4 5 6 7 8 9; do
            mkdir -p tree/z/$i/$j/deeper
            echo "$i $j" >tree/z/$i/$j/deeper/file
            echo "$j $i" >tree/z/$i/file.$j
        done
    done
    # Around the sizes at which reading changes.
    for size in 1 262143 262144 262145 524287 524288 524289 3000000; do
        head -c $size /dev/urandom >tree/z/size.$size
    done
}

# All ways to run it give the bytes that sha256sum gives.
test_same_bytes() {
    reference tree >out/expected
    run 0 --serial tree
    same out/expected out/1 "--serial"
    silent "--serial"
    for policy in sharded global; do
        for workers in 1 2 8 64; do
            run 0 --policy $policy --workers $workers tree
            same out/expected out/1 "--policy $policy --workers $workers"
            silent "--policy $policy --workers $workers"
        done
    done
    sha256sum -c --quiet out/1 || fail "sha256sum -c"
}

# However little of a directory is in memory, the output is the same.
test_windows() {
    reference tree >out/expected
    for window in 1 60 2000; do
        run 0 --window $window tree
        same out/expected out/1 "--window $window"
        run 0 --window $window --serial tree
        same out/expected out/1 "--window $window --serial"
    done
}

test_few_files_open() {
    reference tree >out/expected
    (ulimit -n 40 && exec "$treesum" tree) >out/1 2>out/2 || fail "40 open files: status $?"
    same out/expected out/1 "40 open files"
}

test_few_threads() {
    reference tree >out/expected
    THRUM_BLOCKING_THREADS_MAX=1 "$treesum" tree >out/1 2>out/2 || fail "one thread: status $?"
    same out/expected out/1 "one thread of the blocking pool"
}

# ---- names ----

test_odd_names() {
    newline=$(printf 'new\nline')
    return_=$(printf 'car\rriage')
    bytes=$(printf 'not\377utf\200')
    control=$(printf 'con\002trol\033[31m\ttab')
    mkdir -p "odd/$newline-dir" "odd/back\\slash-dir" "odd/-rf" "odd/ " "odd/$bytes-dir"
    for dir in odd odd/*; do
        [ -d "$dir" ] || continue
        for name in "$newline" "$return_" 'back\slash' '\' '\n' ' lead and trail ' -n -- '*' \
            "$bytes" "$control" "'" '"' '$HOME' '~' '#' 'é'; do
            echo "$name" >"$dir/$name"
        done
    done
    reference odd >out/expected
    run 0 odd
    same out/expected out/1 "odd names"
    sha256sum -c --quiet out/1 || fail "odd names: sha256sum -c"
    run 0 --serial odd
    same out/expected out/1 "odd names --serial"
    sha256sum -- -x >out/expected 2>/dev/null
    mkdir ./-x && echo x >./-x/- && echo y >./-
    sha256sum -- -x/- ./- >out/expected
    run 0 -- -x -
    same out/expected out/1 "arguments that begin with a dash"
    sha256sum -c --quiet out/1 || fail "dash: sha256sum -c"
}

# As arguments, too, and longer in UTF-8 than in UTF-16.
test_utf8_names() {
    long=$(printf '%080d' 0 | sed 's/0/€/g')
    mkdir -p "umlaut/ä ö" "umlaut/$long"
    for name in ' é 日本語' "$long" '#' "'" "€"; do
        echo "$name" | tee "umlaut/ä ö/$name" >"umlaut/$long/$name"
    done
    { reference umlaut && reference "umlaut/ä ö"; } >out/expected
    run 0 umlaut "umlaut/ä ö"
    same out/expected out/1 "names in UTF-8"
    run 0 --serial --window 1 umlaut "umlaut/ä ö"
    same out/expected out/1 "names in UTF-8 --serial --window 1"
}

# ---- arguments ----

test_arguments() {
    ln -s tree link
    reference tree/a tree/z/five tree/z/ >/dev/null
    { reference tree/a; reference tree/z/five; reference tree/z/; } >out/expected
    run 0 tree/a tree/z/five tree/z/
    same out/expected out/1 "several arguments, a file, a slash at the end"
    reference -H link >out/expected
    run 0 link
    same out/expected out/1 "an argument that is a link is followed"
    (cd tree && reference . >../out/expected && "$treesum" . >../out/1) || fail "."
    same out/expected out/1 "."
    reference tree/z >out/expected
    run 1 absent tree/z absent/too
    same out/expected out/1 "absent arguments: the rest"
    errors 'treesum: absent: No such file or directory
treesum: absent/too: No such file or directory
' "absent arguments"
    run 1 /dev/null
    errors 'treesum: /dev/null: not a regular file
' "a device"
    sha256sum /proc/version >out/expected
    run 0 /proc/version
    same out/expected out/1 "a file that is longer than its size"
    run 0 tree/empty
    same /dev/null out/1 "an empty directory"
}

test_command_line() {
    for wrong in "" --wrong "--workers 0 ." "--workers 1x ." "--workers 99999 ." "--policy none ." \
        "--window 0 ." "--workers" "-x ."; do
        run 2 $wrong
        [ -s out/2 ] || fail "treesum $wrong: silent"
        [ ! -s out/1 ] || fail "treesum $wrong: prints"
    done
    run 0 --policy fifo .
    run 0 --help
    grep -q -e --workers out/1 || fail "--help"
    run 0 --version
    grep -q '^treesum .*[0-9]' out/1 || fail "--version"
}

test_stats() {
    files=$(find tree -type f | wc -l)
    bytes=$(find tree -type f -print0 | xargs -0 cat | wc -c)
    for mode in "" --serial; do
        run 0 --stats $mode tree
        grep -q "^files  *$files\$" out/2 || fail "--stats $mode: not $files files"
        grep -q "^bytes  *$bytes\$" out/2 || fail "--stats $mode: not $bytes bytes"
        grep -q '^peak_rss_kib  *[1-9]' out/2 || fail "--stats $mode: no peak"
        grep -q tasks_started out/2
        [ $? -eq "${mode:+1}${mode:-0}" ] 2>/dev/null || [ -n "$mode" ] || fail "--stats: no table"
    done
}

# ---- links ----

test_links() {
    mkdir -p links/dir/sub
    echo one >links/dir/file
    ln -s dir/file links/to-file
    ln -s dir links/to-dir
    ln -s /dev/null links/to-device
    reference links >out/expected
    run 0 links
    same out/expected out/1 "links are not followed"
    reference -L links >out/expected
    run 0 -L links
    same out/expected out/1 "-L follows links"
    for mode in "" --serial; do
        ln -s ../.. links/dir/sub/up
        ln -s nowhere links/dangling
        ln -s itself links/itself
        run 1 -L $mode links
        same out/expected out/1 "-L $mode: loops and links to nowhere: the rest"
        errors 'treesum: links/dangling: No such file or directory
treesum: links/dir/sub/up: loop of symbolic links
treesum: links/itself: loop of symbolic links
treesum: links/to-dir/sub/up: loop of symbolic links
' "-L $mode"
        rm links/dir/sub/up links/dangling links/itself
    done
    # Out of the tree and back into it: the loop is where the tree comes for the second time.
    mkdir -p outside/inside
    echo two >outside/file
    ln -s .. outside/inside/out
    find -L outside/inside -type f >out/paths 2>/dev/null
    run 1 -L outside/inside
    errors 'treesum: outside/inside/out/inside: loop of symbolic links
' "a loop through the outside"
    sed 's/^[0-9a-f]*  //' out/1 | sort >out/found
    sort out/paths >out/expected
    same out/expected out/found "a loop through the outside"
}

# ---- what goes wrong ----

test_unreadable() {
    mkdir -p shut/dir shut/open
    echo 1 >shut/dir/file && echo 2 >shut/file && echo 3 >shut/open/file
    reference shut/open >out/expected
    chmod 000 shut/dir shut/file
    if [ "$(id -u)" -eq 0 ]; then
        echo "unreadable files: left out, root reads all" >&2
    else
        run 1 shut
        same out/expected out/1 "unreadable: the rest"
        errors 'treesum: shut/dir: Permission denied
treesum: shut/file: Permission denied
' "unreadable"
    fi
}

# Its output is not read, so it must come to a stop in the first directory, with the root listed and
# the rest not: only so far is it ahead. What vanishes now was there and cannot be found. The names are
# so long that no pipe takes all of them: one with pages of 64 KiB takes a megabyte.
test_vanishing() {
    mkdir -p gone/a
    seq 12000 | split -l 1 -a 4 - "gone/a/$(printf 'f%090d' 0)"
    i=0
    while [ $i -lt 200 ]; do
        mkdir gone/b$i
        i=$((i + 1))
    done
    mkdir gone/y gone/z
    echo 1 >gone/y/file && echo 2 >gone/yy && echo 3 >gone/z/file
    { reference gone/a && reference gone/z; } >out/expected
    mkfifo out/pipe
    { "$treesum" gone >out/pipe 2>out/2; echo $? >out/status; } &
    {
        dd bs=1 count=1 2>/dev/null # it has begun to print
        rm -r gone/y gone/yy
        cat
    } <out/pipe >out/1
    wait
    rm out/pipe
    [ "$(cat out/status)" -eq 1 ] || fail "vanishing: status"
    same out/expected out/1 "vanishing: the rest"
    errors 'treesum: gone/y: No such file or directory
treesum: gone/yy: No such file or directory
' "vanishing"
    rm -r gone
}

test_write_errors() {
    { "$treesum" wide 2>out/2; echo $? >out/status; } | head -n 1 >out/1
    [ "$(cat out/status)" -eq 1 ] || fail "closed early: status $(cat out/status)"
    errors 'treesum: write error: Broken pipe
' "closed early"
    for mode in "" --serial; do
        "$treesum" $mode tree >/dev/full 2>out/2
        [ $? -eq 1 ] || fail "full $mode: status"
        errors 'treesum: write error: No space left on device
' "full $mode"
    done
    "$treesum" --help >/dev/full 2>out/2
    [ $? -eq 1 ] || fail "--help to a full device: status"
}

# A signal ends it in order, in the middle of a file; and after a second even if its output is not
# read.
test_signals() {
    mkdir huge && truncate -s 100G huge/file || fail "no sparse file"
    "$treesum" huge >out/1 2>out/2 &
    pid=$!
    until [ "$(sed -n 's/^rchar: //p' "/proc/$pid/io")" -ge 1000000 ]; do sleep 0.01; done
    kill -TERM $pid
    wait $pid
    status=$?
    [ $status -eq 143 ] || fail "a signal in a large file: status $status"
    same /dev/null out/1 "a signal in a large file"
    silent "a signal in a large file"
    rm -r huge
    mkfifo out/pipe
    exec 3<>out/pipe # open, and never read
    "$treesum" wide >&3 2>out/2 &
    pid=$!
    until [ "$(sed -n 's/^wchar: //p' "/proc/$pid/io")" -ge 65536 ]; do sleep 0.01; done
    kill -TERM $pid
    wait $pid
    status=$?
    exec 3>&-
    rm out/pipe
    [ $status -eq 143 ] || fail "a signal in a write: status $status"
    silent "a signal in a write"
}

# ---- extreme trees ----

# 300 levels ($levels), each with a file before and behind the next level: a path of 60,000 bytes.
test_deep() {
    level=$(printf 'd%0199d' 0)
    (
        mkdir deep && cd deep || exit 1
        i=0
        while [ $i -lt $levels ]; do
            echo x >a && echo x >z && mkdir "$level" && cd -P "$level" || exit 1
            i=$((i + 1))
        done
    ) 2>/dev/null || fail "could not make a deep tree"
    digest=$(echo x | sha256sum | cut -d ' ' -f 1)
    find deep -type f -print0 | tree_order | tr '\0' '\n' | sed "s/^/$digest  /" >out/expected
    [ "$(wc -l <out/expected)" -eq $((2 * levels)) ] || fail "the deep tree is not as it should be"
    run 0 deep
    same out/expected out/1 "deep"
    run 0 --serial deep
    same out/expected out/1 "deep --serial"
    run 0 --window 1 deep
    same out/expected out/1 "deep --window 1"
    [ -z "$wine" ] || return # which takes more files itself
    (ulimit -n 40 && exec "$treesum" deep) >out/1 2>out/2 || fail "deep, 40 open files: status $?"
    same out/expected out/1 "deep, 40 open files"
}

test_wide() {
    mkdir wide
    seq 20000 | split -l 1 -a 4 - wide/f
    reference wide >out/expected
    run 0 wide
    same out/expected out/1 "wide"
    run 0 --workers 1 --window 100000 wide
    same out/expected out/1 "wide --window 100000"
}

# ---- the terminal ----

test_progress() {
    command -v script >/dev/null || {
        echo "progress: left out, no script(1)" >&2
        return
    }
    reference tree >out/expected
    script -qec "$treesum tree 2>&1 >out/1" out/typescript >out/terminal </dev/null ||
        fail "on a terminal: status"
    same out/expected out/1 "on a terminal"
    grep -q 'files, .*MB/s' out/terminal || fail "on a terminal: no progress"
    script -qec "$treesum tree" out/typescript >out/terminal </dev/null || fail "all on a terminal"
    # Each line of the output stands in a line of its own, with the progress wiped off before it.
    tr -d '\r' <out/terminal | sed "s/^.*$(printf '\033')\[K//" >out/1
    same out/expected out/1 "all on a terminal"
}

make_tree
for test in ${*:-$all}; do
    before=$failed
    failed=0
    test_$test
    [ $failed -eq 0 ] && echo "ok $test" || echo "not ok $test"
    failed=$((failed | before))
done
exit $failed
