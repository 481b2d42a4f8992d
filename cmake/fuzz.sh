#!/usr/bin/env bash
# Runs every fuzz target of a build folder for a number of inputs, and at most so many seconds each: fuzz.sh BUILD RUNS SECONDS
# Starts from the shipped scenarios and tests/fuzz/corpus/<target>; what a run finds stays in BUILD.
set -euo pipefail
build=$1 runs=$2 seconds=$3
source=$(cd "$(dirname "$0")/.." && pwd)
export LSAN_OPTIONS=suppressions=$source/cmake/leaks.supp:print_suppressions=0
targets=0
for target in "$build"/fuzz_*; do
  [ -x "$target" ] && [ ! -d "$target" ] || continue
  name=$(basename "$target")
  targets=$((targets + 1))
  found=$build/found-$name
  mkdir -p "$found"
  seeds=()
  [ -d "$source/tests/fuzz/corpus/$name" ] && seeds+=("$source/tests/fuzz/corpus/$name")
  case $name in
    fuzz_scenario | fuzz_map) seeds+=("$source/scenarios/multigrid") ;;
    fuzz_particle*) seeds+=("$source/scenarios/particle") ;;
  esac
  echo "fuzz: $name, $runs inputs, at most $seconds s"
  "$target" -runs="$runs" -max_total_time="$seconds" -max_len=8192 -rss_limit_mb=4096 -timeout=60 -seed=1 -verbosity=0 \
    -print_final_stats=0 -artifact_prefix="$build/crash-$name-" "$found" "${seeds[@]}" 2>"$build/$name.log" ||
    { tail -n 60 "$build/$name.log"; echo "fuzz: $name failed, input kept as $build/crash-$name-*"; exit 1; }
done
[ "$targets" -gt 0 ] || { echo "fuzz: no targets in $build" >&2; exit 1; }
echo "fuzz: $targets targets, no reports"
