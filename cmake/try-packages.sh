#!/usr/bin/env bash
# Installs the Debian packages of a folder in a bare Debian 12, made for it, and tries what they bring: the program, its manual
# pages and completions, the Python package, programs that are built with pkg-config and with CMake. Needs root, for the
# new system's root folder, and Debian's archive.     try-packages.sh BUILD/packages SOURCE
set -euo pipefail
packages=$(cd "$1" && pwd)
source=$(cd "$2" && pwd)
[ "$(id -u)" -eq 0 ] || { echo "try-packages: run as root" >&2; exit 1; }
command -v debootstrap >/dev/null || apt-get install -y -qq --no-install-recommends debootstrap >/dev/null
bare=$(mktemp -d)
chmod 755 "$bare"
trap 'rm -rf --one-file-system "$bare"' EXIT
echo "a bare Debian 12 is made in $bare"
debootstrap --variant=minbase bookworm "$bare" >"$bare.log" || { tail -5 "$bare.log" >&2; exit 1; }
rm "$bare.log"
mkdir "$bare/packages"
cp "$packages"/*.deb "$bare/packages"
cp "$source/samples/step.c" "$source/scenarios/multigrid/tiny.yaml" "$bare/root"
cat >"$bare/root/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.20)
project(step C)
find_package(ludus REQUIRED)
add_executable(step step.c)
target_link_libraries(step ludus::libludus)
END
cat >"$bare/root/try.sh" <<'END'
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
cd /root
install() { apt-get install -y -qq "$@" >log 2>&1 || { tail -5 log >&2; exit 1; }; }
says() { # says WORDS COMMAND...
  local words=$1 out
  shift
  out=$("$@" 2>&1) && grep -qF -- "$words" <<<"$out" || { printf '%s\nexpected "%s" of: %s\n' "$out" "$words" "$*" >&2; exit 1; }
  echo "holds: $*"
}
apt-get update -qq
install --no-install-recommends /packages/*.deb
scenarios=/usr/share/ludus/scenarios
says "ludus 0." ludus --version
says "at_goals" ludus run "$scenarios/multigrid/rescue.yaml" --episodes 10
says "1.59 k states" ludus solve "$scenarios/empo/fetch_the_key.yaml" -o key
says "regret" ludus eval key --policy random
says "policy.safetensors" sh -c "ludus train $scenarios/particle/simple_spread.yaml -o team --set learner.steps=2000 && ls team"
says "1589 states" python3 -c 'import ludus; print(ludus.StateSpace(ludus.scenario_path("empo/fetch_the_key")))'
says "(4096, 10)" python3 -c 'import ludus; b = ludus.Batch(ludus.scenario_path("multigrid/rescue"), 4096); b.step(); print(b.states.shape)'
if ludus record tiny.yaml -o tiny.mp4 -q 2>message; then echo "a video without FFmpeg" >&2; exit 1; fi
says "libavutil" cat message
says "ludus.fish" ls /usr/share/bash-completion/completions/ludus /usr/share/zsh/site-functions/_ludus \
  /usr/share/fish/vendor_completions.d/ludus.fish
install --no-install-recommends libavcodec59 libavformat59 libswscale6
says "tiny.mp4" sh -c "ludus record tiny.yaml -o tiny.mp4 --episodes 1 && ls tiny.mp4"
install --no-install-recommends gcc libc6-dev pkg-config cmake make
says "tiny: 1 agents" sh -c 'cc step.c $(pkg-config --cflags --libs ludus) -o step && ./step tiny.yaml'
says "tiny: 1 agents" sh -c "cmake -S . -B built && cmake --build built && built/step tiny.yaml"
END
# Nothing of the caller's environment: what a compiler or CMake is told there is not what a bare system has.
clean=(env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin ${http_proxy:+"http_proxy=$http_proxy"})
unshare --mount --pid --fork bash -c "mount -t proc proc '$bare/proc' && exec \"\$@\"" - "${clean[@]}" chroot "$bare" bash /root/try.sh
echo "the packages install and run on a bare Debian 12"
