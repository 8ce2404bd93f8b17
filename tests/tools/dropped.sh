#!/bin/sh
# The compiler warns if the result of a call that starts something is dropped: if nothing was started, a wait for it never
# ends. dropped.sh C-COMPILER (thrum_scope_go is another matter: the scope records the failure.)
set -eu
cd "$(dirname "$0")/../.."
cc=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/dropped.c" <<'C'
#include <thrum.h>
void drops(thrum_fn fn, thrum_attr *attr, thrum_handle **out, thrum_sched *sched, thrum_task *task);
void drops(thrum_fn fn, thrum_attr *attr, thrum_handle **out, thrum_sched *sched, thrum_task *task) {
    thrum_go(fn, NULL);
    thrum_go_with(attr, fn, NULL);
    thrum_spawn(out, fn, NULL);
    thrum_spawn_with(out, attr, fn, NULL);
    thrum_sched_start(&sched, NULL);
    thrum_task_post(sched, task);
    thrum_task_post_hint(sched, task, THRUM_HINT_NEXT);
    thrum_task_post_until(sched, task, 0);
    thrum_task_post_after(sched, task, 0);
}
C
cp "$work/dropped.c" "$work/dropped.cpp"
calls=$(grep -c '^    thrum_' "$work/dropped.c")
for language in c cpp; do
    "$cc" -Iinclude -c -o "$work/object" "$work/dropped.$language" 2>"$work/said" || { cat "$work/said"; exit 1; }
    warned=$(grep -c 'warning: ignoring return value.*unused-result' "$work/said" || true)
    if [ "$warned" != "$calls" ]; then
        cat "$work/said"
        echo "$language: the compiler warns of $warned of $calls calls whose result is dropped"
        exit 1
    fi
done
