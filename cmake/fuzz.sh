#!/usr/bin/env bash
# Runs every fuzz target of a build folder for a number of inputs, and at most so many seconds each, one on every processor:
#     fuzz.sh BUILD RUNS SECONDS [TARGET]
# Starts from the shipped scenarios and tests/fuzz/corpus/<target>; what a run finds stays in BUILD.
set -euo pipefail
build=$1 runs=$2 seconds=$3
source=$(cd "$(dirname "$0")/.." && pwd)
export LSAN_OPTIONS=suppressions=$source/cmake/leaks.supp:print_suppressions=0

run() {
  local name=$1 found=$build/found-$1 seeds=()
  mkdir -p "$found"
  [ -d "$source/tests/fuzz/corpus/$name" ] && seeds+=("$source/tests/fuzz/corpus/$name")
  case $name in
    fuzz_scenario | fuzz_map) seeds+=("$source/scenarios/multigrid") ;;
    fuzz_particle*) seeds+=("$source/scenarios/particle") ;;
  esac
  [ ${#seeds[@]} -gt 0 ] || { echo "fuzz: $name has no seeds, expected some in tests/fuzz/corpus/$name"; exit 255; }
  echo "fuzz: $name, $runs inputs, at most $seconds s"
  "$build/$name" -runs="$runs" -max_total_time="$seconds" -max_len=8192 -rss_limit_mb=4096 -timeout=60 -seed=1 -verbosity=0 \
    -print_final_stats=0 -artifact_prefix="$build/crash-$name-" "$found" "${seeds[@]}" 2>"$build/$name.log" ||
    { tail -n 60 "$build/$name.log"; echo "fuzz: $name failed, input kept as $build/crash-$name-*"; exit 255; } # the others stop too
}

if [ $# -gt 3 ]; then
  run "$4"
  exit
fi
targets=()
for target in "$build"/fuzz_*; do
  name=$(basename "$target")
  if [ -x "$target" ] && [ -f "$source/tests/fuzz/$name.c" ]; then targets+=("$name"); fi
done
[ ${#targets[@]} -gt 0 ] || { echo "fuzz: no targets in $build" >&2; exit 1; }
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -n 1 bash "$0" "$build" "$runs" "$seconds"
echo "fuzz: ${#targets[@]} targets, no reports"
