#!/bin/sh
# Prometheus' own tool has no complaint about the metrics that a program prints.
#   promtool.sh PROGRAM     one that prints them (metrics.c)
set -eu
command -v promtool >/dev/null || { echo "promtool is not installed (Debian: prometheus)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" >"$work/metrics"
grep -q '^thrum_longest_run_seconds{.*} [0-9]*\.[0-9]*$' "$work/metrics" || { echo "no time is in seconds"; exit 1; }
promtool check metrics <"$work/metrics" >"$work/said" 2>&1 || { cat "$work/said"; exit 1; }
[ ! -s "$work/said" ] || { cat "$work/said"; exit 1; }
