#!/usr/bin/env bash
# hosts.sh BUILD: cli/test_ranks with processes that live in network namespaces of their own, which are hosts to each other and talk TCP:
# trainings, rankings, solutions, sweeps and experiments are the bytes of one process. Exit code 77 where namespaces cannot be made (not
# root, no iproute2) or there is no MPI.
set -euo pipefail
build=$(cd "$1" && pwd)
skip() { echo "hosts.sh: skipped: $*"; exit 77; }
command -v ip >/dev/null || skip "there is no ip (iproute2)"
{ command -v mpirun >/dev/null && [ -e "$build/ludus_mpi.so" ]; } || skip "there is no MPI"
mpirun --version | grep -q 'Open MPI' || skip "the launcher is not Open MPI's"
[ "$(id -u)" = 0 ] || skip "only root makes network namespaces"
work=$(mktemp -d /tmp/ludus-hosts-XXXXXX)
name=lud$$ hosts=2 net=10.77.77
forget() {
  for ((h = 1; h <= hosts; h++)); do ip netns del "$name-$h" 2>/dev/null || true; done
  rm -rf "$work"
}
trap forget EXIT
for ((h = 1; h <= hosts; h++)); do
  ip netns add "$name-$h" 2>"$work/why" || skip "a network namespace cannot be made here: $(tail -1 "$work/why")"
  ip -n "$name-$h" link set lo up
  mkdir "$work/$h"
done
ip link add "v1-$$" netns "$name-1" type veth peer name "v2-$$" netns "$name-2" 2>"$work/why" ||
  skip "namespaces cannot be linked here: $(tail -1 "$work/why")"
for ((h = 1; h <= hosts; h++)); do
  ip -n "$name-$h" addr add "$net.$h/24" dev "v$h-$$"
  ip -n "$name-$h" link set "v$h-$$" up
done

# What the launcher takes for ssh: a command on a host, which has a name, a network and temporary files of its own.
cat >"$work/agent" <<AGENT
#!/usr/bin/env bash
h=\${1##*.}
shift
echo "\$h" >>$work/called
exec ip netns exec $name-\$h unshare --uts bash -c 'hostname host-\$0; export TMPDIR=$work/\$0; eval "\$@"' "\$h" "\$@"
AGENT
# mpirun on the first host: launch -n N PROGRAM ARGUMENTS
cat >"$work/launch" <<LAUNCH
#!/usr/bin/env bash
n=\$2
shift 2
exec ip netns exec $name-1 unshare --uts bash -c 'hostname host-1; exec "\$@"' mpirun env TMPDIR=$work/1 mpirun \
  --mca plm_rsh_agent $work/agent --mca btl tcp,self --mca pml ob1 --mca btl_tcp_if_include $net.0/24 \
  --mca oob_tcp_if_include $net.0/24 --bind-to none --oversubscribe --map-by node -x OMP_NUM_THREADS -x OMP_WAIT_POLICY -x ASAN_OPTIONS \
  --host $net.1:\$(((n + 1) / 2)),$net.2:\$((n / 2)) -n "\$n" "\$@"
LAUNCH
chmod +x "$work/agent" "$work/launch"
LUDUS_LAUNCHER="$work/launch" "$build/cli_test_ranks"
grep -q '^2$' "$work/called" || { echo "hosts.sh: nothing ran on the second host" >&2; exit 1; }
echo "hosts.sh: $(wc -l <"$work/called") jobs of two hosts"
