#!/bin/sh
# Installs Debian packages in a clean chroot, which is made for that and then thrown away, and has autopkgtest run
# debian/tests there. Takes root, mmdebstrap and a mirror of Debian's; without them it says so and ends with 77.
#   chroot.sh FOLDER-WITH-PACKAGES SOURCE-TREE
set -eu
packages=$(cd "$1" && pwd)
source=$(cd "$2" && pwd)
command -v mmdebstrap >/dev/null || { echo "no mmdebstrap here"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "not root: no chroot is made"; exit 77; }
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/in"
for package in "$packages"/*.deb; do
    case $package in
    *-dbgsym_*) continue ;; # nothing but debug information, as much as all others together
    esac
    cp "$package" "$work/in/"
done
cp -r "$source" "$work/in/source"
# autopkgtest installs what debian/tests/control names: our packages by the files, the rest from the mirror.
cat >"$work/in/run" <<'END'
#!/bin/sh
set -eu
cd /in
if dpkg -l | grep thrum; then exit 1; fi
autopkgtest --no-built-binaries ./*.deb /in/source/ -- null
apt-get -y -q install ./thrum-doc_*.deb >/dev/null # no test asks for it
dpkg -l | grep thrum
# Nothing stays when they go.
apt-get -y -q purge 'libthrum*' 'thrum*' >/dev/null
! find / -xdev -path /in -prune -o -path /tmp -prune -o -path '*thrum*' -print | grep .
END
chmod +x "$work/in/run"
if ! mmdebstrap --quiet --variant=apt --include=autopkgtest,ca-certificates --format=null --dpkgopt=force-unsafe-io \
    --customize-hook="touch '$work/made'" --customize-hook="copy-in '$work/in' /" \
    --customize-hook='chroot "$1" /in/run' "$suite" /dev/null >"$work/log" 2>&1; then
    tail -40 "$work/log"
    [ -e "$work/made" ] || { echo "no chroot of $suite could be made here"; exit 77; }
    exit 1
fi
grep -E '^(ii .*thrum|[a-z_]+ +(PASS|FAIL|SKIP))' "$work/log"
