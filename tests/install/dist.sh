#!/bin/sh
# What `make dist` writes: the same bytes twice, sources that are the commit's, checksums that are true.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
git -C "$here" rev-parse HEAD >/dev/null 2>&1 || { echo "not a clone: nothing to release"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$here/tools/dist" --out "$work/one"
"$here/tools/dist" --out "$work/again"
diff -r "$work/one" "$work/again"
cd "$work"
tar -xzf one/thrum-*[0-9].tar.gz
for line in "source_filename = $(cd one && ls thrum-*[0-9].tar.gz)" "source_hash = $(sha256sum one/thrum-*[0-9].tar.gz | cut -d' ' -f1)"; do
    grep -qx "$line" one/thrum.wrap || { echo "thrum.wrap does not say: $line"; exit 1; }
done
tar -xzf one/thrum-*-amalgamation.tar.gz
python3 - <<'END'
import glob, hashlib, json, os
bill = json.load(open(glob.glob("one/*.spdx.json")[0]))
top = next(name for name in glob.glob("thrum-*") if not name.endswith("amalgamation"))
listed = {one["fileName"]: one["checksums"][1]["checksumValue"] for one in bill["files"]}
found = {"./" + os.path.relpath(os.path.join(folder, name), top) for folder, _, names in os.walk(top) for name in names}
assert found == set(listed), found ^ set(listed)
for name, expected in listed.items():
    assert hashlib.sha256(open(os.path.join(top, name), "rb").read()).hexdigest() == expected, name
print(len(found), "files")
END
./thrum-*[0-9]/tools/amalgamate --out generated
for file in thrum.h thrum.c; do
    cmp generated/$file thrum-*-amalgamation/$file
done
