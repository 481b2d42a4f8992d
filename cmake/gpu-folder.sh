#!/usr/bin/env bash
# gpu-folder.sh BUILD FOLDER [without-cublas]: a folder that runs on a machine with a GPU and nothing else installed: the program, the
# tests of CUDA, every library that they need, scenarios, and bench-gpu, which runs them. cuBLAS, 0.7 GB, may stay behind.
set -euo pipefail
build=$1 folder=$2 cublas=${3:-}
rm -rf "$folder.partial"
mkdir -p "$folder.partial"/{bin,lib}
cp "$build"/ludus "$build"/ludus_cuda.so "$build"/ludus_cuda_emulated.so "$folder.partial/bin"
cp "$build"/*_test_cuda* "$folder.partial/bin"
cp -r scenarios "$folder.partial"
cp tests/gpu/bench-gpu LICENSE "$folder.partial"
strip "$folder.partial"/bin/*
# of the C library and the loader the machine has its own
ldd "$folder.partial"/bin/* | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
  grep -Ev '/(libc|libm|libpthread|libdl|librt|libresolv|libcuda|ld-linux[^/]*)\.so' | while read -r library; do
  if [ "$cublas" = without-cublas ] && [[ $library == */libcublas* ]]; then continue; fi
  cp -L "$library" "$folder.partial/lib"
done
git rev-parse HEAD >"$folder.partial/commit" 2>/dev/null || echo unknown >"$folder.partial/commit"
rm -rf "$folder"
mv "$folder.partial" "$folder"
echo "$folder: $(du -sh "$folder" | cut -f1), to be copied to a machine with a GPU and run there: ./bench-gpu"
