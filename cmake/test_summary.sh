#!/usr/bin/env bash
# One line about the tests that CTest ran last in a build folder, and the fuzz targets there: test_summary.sh BUILD
set -euo pipefail
log=$1/Testing/Temporary/LastTest.log
programs=$(grep -c '^Test Passed' "$log" || true)
cases=$(grep -c '^\[       OK \] ' "$log" || true)
skipped=$(awk '/ SKIPPED TEST\(S\)$/ {n += $1} END {print n + 0}' "$log")
read -r targets inputs < <(cat "$1"/fuzz_*.log | awk '/ inputs, / {targets++; inputs += $1} END {print targets + 0, inputs + 0}')
echo "passed: $cases cases of $programs test programs, $inputs inputs to $targets fuzz targets; skipped: $skipped cases that need" \
  "files, a GPU or programs that are not here. Sanitizers and the long tests: make test-all"
