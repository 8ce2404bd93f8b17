#!/bin/sh
# Runs FOLDER/run in a chroot that has nothing but Debian's essential packages, apt, and PACKAGES (by commas); the
# chroot is made for that and then thrown away. FOLDER is /in there, and what the run leaves in /in/out comes back to
# FOLDER/out, beside what it said, as log. Takes root, mmdebstrap and a mirror of Debian's; without them it says so and
# ends with 77.
#   in-chroot.sh FOLDER PACKAGES
set -eu
folder=$(cd "$1" && pwd)
command -v mmdebstrap >/dev/null || { echo "no mmdebstrap here"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "not root: no chroot is made"; exit 77; }
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$folder" "$work/in"
mkdir -p "$work/in/out"
chmod +x "$work/in/run"
if ! mmdebstrap --quiet --variant=apt --include="$2" --format=null --dpkgopt=force-unsafe-io \
    --customize-hook="touch '$work/made'" --customize-hook="copy-in '$work/in' /" \
    --customize-hook='chroot "$1" /in/run' --customize-hook="copy-out /in/out '$folder'" \
    "$suite" /dev/null >"$work/log" 2>&1; then
    tail -40 "$work/log"
    [ -e "$work/made" ] || { echo "no chroot of $suite could be made here"; exit 77; }
    exit 1
fi
cp "$work/log" "$folder/out/log"
