#!/bin/sh
# Each page of the guide has an example in C++, and docs/guide/cpp.md names each of them: cpp-pages.sh
set -eu
cd "$(dirname "$0")/../.."
status=0
for page in docs/guide/*.md; do
    case $page in
    docs/guide/README.md) continue ;; # the list of the pages
    esac
    names=$(grep -o '(\.\./\.\./examples/cpp_[a-z_0-9]*\.cpp)' "$page" | tr -d '()' | sort -u)
    if [ -z "$names" ]; then
        echo "$page: no example in C++"
        status=1
    fi
    for name in $names; do
        if [ ! -f "docs/guide/$name" ]; then
            echo "$page: there is no $name"
            status=1
        fi
    done
done
for example in examples/cpp_*.cpp; do
    if ! grep -q "(../../$example)" docs/guide/cpp.md; then
        echo "docs/guide/cpp.md does not name $example"
        status=1
    fi
done
exit $status
