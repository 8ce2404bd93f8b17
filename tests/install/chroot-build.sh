#!/bin/sh
# Builds Debian packages in a clean chroot (in-chroot.sh) that has the build dependencies and nothing else, as nobody
# and without a network: so a dependency that debian/control lacks is missed. The packages, and the source package,
# come into the folder.
#   chroot-build.sh FOLDER-WITH-ORIG-TARBALL SOURCE-TREE
set -eu
here=$(dirname "$0")
packages=$(cd "$1" && pwd)
source=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/in" "$work/in/build"
cp "$packages"/*.orig.tar.gz "$work/in/build/"
cp -r "$source" "$work/in/build/"
echo "${JOBS:-2}" >"$work/in/jobs"
cat >"$work/in/run" <<'END'
#!/bin/sh
set -eu
cd /in/build/*/
export DEBIAN_FRONTEND=noninteractive
apt-get -y -q --no-install-recommends build-dep . >/dev/null
chown -R nobody /in/build
alone= # a container may refuse it
! unshare --net true 2>/dev/null || alone="unshare --net"
$alone runuser -u nobody -- env HOME=/nonexistent dpkg-buildpackage -us -uc -j"$(cat /in/jobs)"
find /in/build -maxdepth 1 -type f ! -name '*.orig.tar.gz' -exec cp {} /in/out/ \;
END
"$here/in-chroot.sh" "$work/in" ca-certificates
rm "$work/in/out/log"
cp "$work/in/out"/* "$packages/"
