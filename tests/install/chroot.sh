#!/bin/sh
# Installs Debian packages in a clean chroot (in-chroot.sh), and has autopkgtest run debian/tests there.
#   chroot.sh FOLDER-WITH-PACKAGES SOURCE-TREE
set -eu
here=$(dirname "$0")
packages=$(cd "$1" && pwd)
source=$(cd "$2" && pwd)
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
"$here/in-chroot.sh" "$work/in" autopkgtest,ca-certificates
grep -E '^(ii .*thrum|[a-z_]+ +(PASS|FAIL|SKIP))' "$work/in/out/log"
