#!/bin/sh
# What `make dist` writes: the same bytes twice, sources that are the commit's, checksums that are true, an SBOM that keeps
# the rules of SPDX 2.3's JSON schema for what it has, and names each package by a purl, and a CPE in its standard form.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
git -C "$here" rev-parse HEAD >/dev/null 2>&1 || { echo "not a clone: nothing to release"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$here/tools/release/dist" --out "$work/one"
"$here/tools/release/dist" --out "$work/again"
diff -r "$work/one" "$work/again"
cd "$work"
tar -xzf one/thrum-*[0-9].tar.gz
for line in "source_filename = $(cd one && ls thrum-*[0-9].tar.gz)" "source_hash = $(sha256sum one/thrum-*[0-9].tar.gz | cut -d' ' -f1)"; do
    grep -qx "$line" one/thrum.wrap || { echo "thrum.wrap does not say: $line"; exit 1; }
done
tar -xzf one/thrum-*-amalgamation.tar.gz
python3 - <<'END'
import glob, hashlib, json, os, re
bill = json.load(open(glob.glob("one/*.spdx.json")[0]))
top = next(name for name in glob.glob("thrum-*") if not name.endswith("amalgamation"))
listed = {one["fileName"]: one["checksums"][1]["checksumValue"] for one in bill["files"]}
found = {"./" + os.path.relpath(os.path.join(folder, name), top) for folder, _, names in os.walk(top) for name in names}
assert found == set(listed), found ^ set(listed)
for name, expected in listed.items():
    assert hashlib.sha256(open(os.path.join(top, name), "rb").read()).hexdigest() == expected, name
print(len(found), "files")

def has(of, *names):
    for name in names:
        assert of.get(name), (name, of)
has(bill, "SPDXID", "creationInfo", "dataLicense", "documentNamespace", "name", "packages", "spdxVersion")
has(bill["creationInfo"], "created", "creators")
assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", bill["creationInfo"]["created"])
attribute = r"(\*|-|(\?*|\*?)([a-zA-Z0-9._-]|\\[^a-zA-Z0-9])+(\?*|\*?))"
forms = {("PACKAGE-MANAGER", "purl"): r"pkg:[a-z][a-z0-9.+-]*(/[A-Za-z0-9._~%-]+)+(@[A-Za-z0-9._~%+-]+)?",
         ("SECURITY", "cpe23Type"): rf"cpe:2\.3:[aho](:{attribute}){{5}}:([a-z]{{2,3}}(-([A-Z]{{2}}|\d{{3}}))?|\*|-)(:{attribute}){{4}}"}
for one in bill["packages"]:
    has(one, "SPDXID", "name", "downloadLocation", "externalRefs")
    kinds = []
    for known in one["externalRefs"]:
        assert set(known) == {"referenceCategory", "referenceType", "referenceLocator"}, known
        kinds.append((known["referenceCategory"], known["referenceType"]))
        assert re.fullmatch(forms[kinds[-1]], known["referenceLocator"]), known
    assert kinds.count(("PACKAGE-MANAGER", "purl")) == 1, one
    print(one["name"], *(known["referenceLocator"] for known in one["externalRefs"]))
ids = [one["SPDXID"] for one in [bill, *bill["packages"], *bill["files"]]]
assert len(ids) == len(set(ids)) and all(re.fullmatch(r"SPDXRef-[a-zA-Z0-9.-]+", one) for one in ids)
for one in bill["relationships"]:
    assert one["spdxElementId"] in ids and one["relatedSpdxElement"] in ids, one
thrum = next(one for one in bill["packages"] if one["name"] == "thrum")
assert thrum["externalRefs"][0]["referenceLocator"] == "pkg:generic/thrum@" + top.split("-")[1]
END
./thrum-*[0-9]/tools/amalgamate --out generated
for file in thrum.h thrum.c; do
    cmp generated/$file thrum-*-amalgamation/$file
done
