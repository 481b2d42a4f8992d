#!/bin/bash
# Which error messages does no test provoke? Lists every line that makes a message and that the tests of a coverage
# build never reached; messages about memory that ran out are counted apart (tests/*/test_out_of_memory.c).
#
#   cmake --preset coverage && cmake --build --preset coverage && ctest --test-dir build/coverage
#   bash cmake/messages.sh build/coverage
set -eu
build=$(cd "${1:-build/coverage}" && pwd)
source=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# file:line:count of every line that can run, one object file after another (a header's lines stand in many)
find "$build"/CMakeFiles/lud_{base,sim,agents,learn,render}.dir "$build"/CMakeFiles/ludus.dir -name '*.gcno' |
  while read -r notes; do
    (cd "$build" && gcov -t "$notes" 2>/dev/null) | awk -F: -v source="$source/" '
      $2 + 0 == 0 && $3 == "Source" {
        file = $4
        while (match(file, /[^\/]+\/\.\.\//)) file = substr(file, 1, RSTART - 1) substr(file, RSTART + RLENGTH)
        sub(source, "", file)
        next
      }
      file !~ /^\// && $1 !~ /-/ { count = $1; gsub(/[ *]/, "", count); print file ":" $2 + 0 ":" (count ~ /^[#=]/ ? 0 : count + 0) }'
  done | awk -F: '{ n[$1 ":" $2] += $3 } END { for (at in n) if (!n[at]) print at }' | sort -t: -k1,1 -k2,2n >"$scratch/unreached"

# of those, the lines that make messages, with the message
awk -F: -v source="$source/" '
  { line[$1, ++n[$1]] = $2; files[$1] = 1 }
  END {
    pattern = "(lud_fail(_at|_context)?|lud_tree_expected|[a-z_]*_error|[a-z_]*failed|no_display)\\("
    for (file in files) {
      m = 0
      while ((getline text < (source file)) > 0) code[++m] = text
      close(source file)
      for (k = 1; k <= n[file]; k++) {
        at = line[file, k]
        if (code[at] !~ pattern || code[at] ~ /^static / || code[at] ~ /^[a-z].*\) *[{;]$/) continue
        message = code[at]
        for (j = at + 1; message !~ /;/ && j < at + 6; j++) { rest = code[j]; sub(/^ +/, " ", rest); message = message rest }
        sub(/^ +/, "", message)
        if (message ~ /MEMORY|out_of_memory|no memory|ENOMEM/) memory++
        else print file ":" at ": " message
      }
      split("", code)
    }
    print memory + 0 " lines about memory that ran out" > "/dev/stderr"
  }' "$scratch/unreached" | sort -t: -k1,1 -k2,2n
