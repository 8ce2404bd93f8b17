#!/bin/sh
# What the C++ header refuses when it is compiled, each with a sentence that says what to write: cpp-refused.sh COMPILER
# All that it takes is one file, and all that it refuses another, in which each line is a function of its own.
set -eu
cd "$(dirname "$0")/../.."
compiler=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
limit=-ferror-limit=0 # clang stops after 20 errors
"$compiler" $limit -E -x c++ /dev/null >"$work/said" 2>&1 || limit=
compiled() { # FILE
    "$compiler" -std=c++20 $limit -Iinclude -fsyntax-only "$1" >"$work/said" 2>&1
}
printf '#include <coroutine>\n#ifndef __cpp_impl_coroutine\n#error\n#endif\n' >"$work/there.cpp"
if ! compiled "$work/there.cpp"; then
    echo "no coroutines here"
    exit 77
fi
for file in taken refused; do
    printf '#include <thrum/%s>\n' thrum.hpp cpp/execution.hpp >"$work/$file.cpp"
    {
        echo 'thrum::co<int> made();'
        echo 'struct no_stop { void set_value() noexcept {} };'
        echo 'struct no_error : no_stop { void set_stopped() noexcept {} };'
        echo 'struct may_throw : no_error { void set_value() {} };'
    } >>"$work/$file.cpp"
done
lines=6
function_of() { # NUMBER WORDS: one line
    echo "thrum::co<> body_$1(thrum::once &once) { (void)once; co_await thrum::hop(); $2; }"
}
taken() {
    function_of "$(wc -l <"$work/taken.cpp")" "$1" >>"$work/taken.cpp"
}
refused() { # WORDS SENTENCE
    lines=$((lines + 1))
    function_of $lines "$1" >>"$work/refused.cpp"
    printf '%s\t%s\t%s\n' $lines "$2" "$1" >>"$work/wanted"
}
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

# Bodies of intrusive tasks.
taken 'thrum::intrusive_task task([&once] { once.call([] {}); })'
refused 'thrum::intrusive_task task([said = std::string("x")] { (void)said; })' 'is copied for each run'
refused 'thrum::intrusive_task task([a = 1L, b = 2L, c = 3L, d = 4L] { (void)(a + b + c + d); })' 'larger than three pointers'
refused 'thrum::intrusive_task task([n = 1]() mutable { n++; })' 'is not mutable'
refused 'thrum::intrusive_task task([](int) {})' 'takes nothing or a'
refused 'thrum::intrusive_task task([] { return made(); })' 'gets what the body returns'
refused 'thrum::intrusive_task().set_body([](thrum::intrusive_task &) { return 1; })' 'gets what the body returns'

# Receivers.
on='thrum::execution::scheduler(nullptr)'
taken "(void)$on.schedule().connect(no_error())"
refused "(void)$on.schedule().connect(no_stop())" 'the receiver needs'
refused "(void)$on.schedule_at(thrum::deadline::never()).connect(may_throw())" 'the receiver needs'
refused "(void)$on.bulk(1, [](size_t) {}).connect(no_error())" 'the receiver needs'

if ! compiled "$work/taken.cpp"; then
    echo "not compiled: one of"
    cat "$work/taken.cpp" "$work/said"
    exit 1
fi
if compiled "$work/refused.cpp"; then
    echo "all of these are compiled:"
    cat "$work/refused.cpp"
    exit 1
fi
# gcc says above an error from which line it comes, and clang below it.
awk -F '\t' -v said="$work/said" -v file="$work/refused.cpp" '
    { sentence[$1] = $2; words[$1] = $3 }
    function line_of(text, place) {
        split(substr(text, length(file) + 2), place, ":")
        return place[1]
    }
    END {
        while ((getline text < said) > 0) {
            if (text ~ /: error: .*static.assert/) {
                error = text
                met[above] = met[above] error "\n"
            } else if (index(text, file ":") == 1 && text ~ /required from here/) {
                above = line_of(text)
            } else if (index(text, file ":") == 1 && text ~ /note: in instantiation/) {
                met[line_of(text)] = met[line_of(text)] error "\n"
            }
        }
        for (n in sentence) {
            if (!index(met[n], sentence[n])) {
                printf "not refused by the words \"%s\": %s\n", sentence[n], words[n]
                status = 1
            }
        }
        exit status
    }' "$work/wanted" || {
    cat "$work/said"
    exit 1
}
