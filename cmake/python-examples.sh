#!/usr/bin/env bash
# Makes build/python-examples: what python/examples stand on, over Debian's PyTorch, which has 0.1 GB where PyPI's has 3.
#     python-examples.sh [--peers]     with the libraries that `python -m ludus.bench --others` and `ludus.bench_peers` compare with
set -euo pipefail
cd "$(dirname "$0")/.."
folder=build/python-examples
python=$folder/bin/python
has() { "$python" -c 'import sys; from importlib.util import find_spec; sys.exit(not all(map(find_spec, sys.argv[1:])))' "$@" 2>/dev/null; }
pip() { "$python" -m pip install -q --retries 1 "$@"; }

if ! has gymnasium jax matplotlib mpe2 pettingzoo pytest scipy stable_baselines3 torch; then
  rm -rf "$folder"
  bash cmake/install-deps.sh --examples
  /usr/bin/python3 -m venv --system-site-packages "$folder" # Debian's own interpreter, for which its PyTorch is made
  pip -r python/requirements.txt -r python/requirements-examples.txt
  # The last that takes this PyTorch. It asks for gymnasium below 1.1; later ones, which ludus.VectorEnv needs, do as well.
  pip --no-deps stable-baselines3==2.4.1
fi
if [ "${1:-}" = --peers ] && ! has envpool jaxmarl minigrid pufferlib stormpy torch_geometric vmas; then
  pip -r python/requirements-examples.txt envpool filelock minigrid psutil
  # Later ones fetch sources from the network while they are built. It names exact versions of all that it uses; these do as well.
  pip --no-deps pufferlib==1.0.1 gym==0.23.1 gym_notices
  # These ask for more than their parts that are measured use, or for a PyTorch or NumPy of their own.
  pip --no-deps vmas 'pyglet<1.6' six || true
  pip --no-deps jaxmarl flax chex toolz jaxtyping || true
  pip --no-deps torch_geometric aiohttp fsspec jinja2 markupsafe pyparsing requests tqdm xxhash || true
  pip --no-deps stormpy || true
fi
