#!/usr/bin/env bash
# clang-tidy over all C sources of the program: tidy.sh BUILD (a configured build folder with compile_commands.json)
set -euo pipefail
build=$1
cd "$(dirname "$0")/.."
git ls-files 'base/*.c' 'kernels/*.c' 'sim/*.c' 'agents/*.c' 'learn/*.c' 'render/*.c' 'cli/*.c' ':!base/ranks/module' |
  xargs -P "$(nproc)" -n 4 clang-tidy -p "$build" --quiet 2>/dev/null
echo "clang-tidy: nothing to report"
