#!/bin/sh
# Builds the Debian packages of what is committed, in a clean chroot where one can be made (chroot-build.sh), has lintian
# look at them, and uses them from a folder that they are unpacked into, as debian/tests does where they are installed;
# then they are installed in another clean chroot (chroot.sh).
#   debian.sh [FOLDER-FOR-THE-PACKAGES]
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
for tool in dh dpkg-buildpackage lintian fakeroot git; do
    command -v $tool >/dev/null || { echo "no $tool here"; exit 77; }
done
git -C "$here" rev-parse HEAD >/dev/null 2>&1 || { echo "not a clone: nothing to package"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(sed -n '1s/.*(\(.*\)-.*/\1/p' "$here/debian/changelog")
"$here/tools/release/dist" --out "$work"
# What Debian adds is no part of what it calls the original.
tar -xzf "$work/thrum-$version.tar.gz" -C "$work"
tar -czf "$work/thrum_$version.orig.tar.gz" -C "$work" --exclude="thrum-$version/debian" "thrum-$version"
if "$here/tests/install/chroot-build.sh" "$work" "$work/thrum-$version"; then
    echo "  built in a clean chroot"
elif [ $? = 77 ]; then
    echo "  built here, with whatever is installed"
    (cd "$work/thrum-$version" && dpkg-buildpackage -us -uc -j"${JOBS:-2}") >"$work/log" 2>&1 || { tail -50 "$work/log"; exit 1; }
else
    exit 1
fi
# Packages that are not for Debian's own archive close no bugs there.
lintian --allow-root --suppress-tags initial-upload-closes-no-bugs --fail-on error,warning "$work"/*.changes
root=$work/root
mkdir "$root"
for package in "$work"/*.deb; do
    case $package in
    *-dbgsym_*) continue ;;
    esac
    dpkg -x "$package" "$root"
    echo "  $(basename "$package"), $(dpkg-deb -c "$package" | grep -c -v '/$') files"
done
libdir=$(dirname "$(find "$root" -name libthrum.so)")
cd "$work/thrum-$version"
AUTOPKGTEST_TMP=$(mktemp -d -p "$work") LD_LIBRARY_PATH=$libdir PKG_CONFIG_PATH=$libdir/pkgconfig CMAKE_PREFIX_PATH=$root/usr \
    PATH=$root/usr/bin:$PATH debian/tests/consumer
[ -z "${1:-}" ] || cp "$work"/*.deb "$1"
mkdir "$work/clean"
tar -xzf "$work/thrum-$version.tar.gz" -C "$work/clean"
"$here/tests/install/chroot.sh" "$work" "$work/clean/thrum-$version" || [ $? = 77 ]
