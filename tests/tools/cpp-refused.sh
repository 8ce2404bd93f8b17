#!/bin/sh
# What the C++ header refuses when it is compiled, each with a sentence that says what to write: cpp-refused.sh COMPILER
set -eu
cd "$(dirname "$0")/../.."
compiler=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compiled() {
    cat >"$work/it.cpp"
    "$compiler" -std=c++20 -Iinclude -fsyntax-only "$work/it.cpp" >"$work/said" 2>&1
}
for_it() {
    printf '%s\n' '#include <thrum/thrum.hpp>' 'thrum::co<int> made();' "thrum::co<> body(thrum::once &once) {" \
        '    co_await thrum::hop();' "    $1;" '}' | compiled
}
status=0
taken() {
    for_it "$1" || { echo "not compiled: $1"; cat "$work/said"; status=1; }
}
refused() {
    if for_it "$1"; then
        echo "compiled: $1"
        status=1
    elif ! grep -q "$2" "$work/said"; then
        echo "not by the words \"$2\": $1"
        cat "$work/said"
        status=1
    fi
}
if ! printf '#include <coroutine>\n#ifndef __cpp_impl_coroutine\n#error\n#endif\n' | compiled; then
    echo "no coroutines here"
    exit 77
fi
taken 'co_await thrum::called(once, [] { return made(); })'
taken 'co_await thrum::called(once, []() -> thrum::co<> { auto begun = thrum::spawn(made()); co_await std::move(begun); })'
refused 'co_await thrum::called(once, [] { return thrum::spawn(made()); })' 'what a co_task ends with would be dropped'
taken 'once.call([] { return 0; })'
refused 'once.call([] { return made(); })' 'a call runs no coroutine'
refused 'once.call([] { return thrum::spawn(made()); })' 'a call runs no coroutine'
refused '(void)once.call_until(thrum::deadline::never(), [] { return made(); })' 'a call runs no coroutine'
taken 'thrum::go([] { thrum::spawn(made()).detach(); })'
taken 'co_await thrum::in_task([] { return thrum::sync_wait(made()); })'
for call in thrum::go '(void)thrum::spawn' 'co_await thrum::in_task' thrum::run 'thrum::scope().go'; do
    refused "$call([] { return made(); })" 'would not begin'
done
refused 'thrum::fork forked([] { return made(); })' 'would not begin'
refused 'thrum::serve(thrum::listener("[::]:1"), [](thrum::io) { return made(); })' 'would not begin'
exit $status
