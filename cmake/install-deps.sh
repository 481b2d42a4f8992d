#!/usr/bin/env bash
# Installs the Debian 12 packages that Ludus needs. Asks for nothing; does nothing when all are there.
#   --headless  without those that draw
#   --mpi, --test, --python, --examples  with those for several processes, tests, Python, the examples in Python
set -euo pipefail
packages=(
  build-essential cmake ninja-build pkg-config git
  libcglm-dev libstb-dev
  libfyaml-dev libjansson-dev libxxhash-dev librandom123-dev
  libdnnl-dev libhdf5-dev libdeflate-dev libcmocka-dev
)
packages_pictures=(libsdl2-dev libavcodec-dev libavformat-dev libavutil-dev libswscale-dev) # windows, pictures, videos
# what the sanitizer and fuzz builds and the format check need besides
packages_mpi=(libopenmpi-dev openmpi-bin) # several processes that train together
packages_test=("${packages_mpi[@]}" clang clang-format clang-tidy libomp-dev libclang-rt-14-dev xvfb python3-venv)
[ "${1:-}" = --headless ] || packages+=("${packages_pictures[@]}")
[ "${1:-}" = --test ] && packages+=("${packages_test[@]}")
[ "${1:-}" = --mpi ] && packages+=("${packages_mpi[@]}")
[ "${1:-}" = --python ] && packages+=(python3-venv) # pip, for the Python package and its tests
[ "${1:-}" = --examples ] && packages+=(python3-venv python3-dev python3-torch)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "install-deps: run as root, or install: ${missing[*]}" >&2; exit 1; }
  as_root=(sudo -n)
fi
echo "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
