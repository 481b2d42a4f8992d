"""Steps per second of other libraries beside ours, for `python -m ludus.bench --others`. What is not installed is named.

Lines are not of the same world but of the nearest that both have: a library that steps a world of its own in C is beside ours
to compare what a call costs, not what a world does.
"""

from __future__ import annotations

import numpy as np

from . import scenario_path
from .bench import pairs

N = 64  # worlds of a vector


def line(name, make, seconds, n=1, ours=None):
    """Another library's loop of k steps of n worlds, which `make` makes, and beside it the one that `ours` makes."""
    try:
        theirs = make()
    except ImportError as error:
        print(f"  {name:<58}not installed ({error.name or error})")
        return
    except Exception as error:
        print(f"  {name:<58}does not run here ({type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''})")
        return
    there, here = pairs(theirs, ours() if ours else theirs, seconds)
    beside = f"  {there / here:6.1f} times as many here ({n / here:,.0f})" if ours else ""
    print(f"  {name:<58}{n / there:>14,.0f} steps/s{beside}", flush=True)


# ---- loops of k steps ----


def of_env(env):
    """A Gymnasium environment with seven actions."""
    env.reset(seed=1)

    def run(k):
        for i in range(k):
            *_, terminated, truncated, _ = env.step(i * 7 % 7 if i % 3 else 2)
            if terminated or truncated:
                env.reset()

    return run


def of_vector(env, n_actions, shape=(N,), dtype=np.int64):
    """A vector that resets what ended by itself."""
    env.reset()
    actions = np.random.default_rng(1).integers(0, n_actions, shape).astype(dtype)

    def run(k):
        for _ in range(k):
            env.step(actions)

    return run


def of_parallel(*envs):
    """PettingZoo's environments, one after the other."""
    for env in envs:
        env.reset(seed=1)
    rows = [{name: (i + k) % 5 for k, name in enumerate(envs[0].agents)} for i in range(5)]

    def run(k):
        for i in range(k):
            for env in envs:
                env.step(rows[i % 5])
                if not env.agents:
                    env.reset()

    return run


# ---- ours ----


def key_door():
    from .env import Env
    return of_env(Env(scenario_path("multigrid/key_door_8x8"), seed=1))


def key_doors():
    from .vector import VectorEnv
    return of_vector(VectorEnv(scenario_path("multigrid/key_door_8x8"), N, threads=1, seed=1), 7, dtype=np.int32)


def spread():
    from .parallel import ParallelEnv
    return of_parallel(ParallelEnv(scenario_path("particle/simple_spread"), seed=1))


def spreads():
    from .vector import VectorEnv
    return of_vector(VectorEnv(scenario_path("particle/simple_spread"), N, threads=1, seed=1), 5, (N, 3), np.int32)


# ---- theirs ----


def minigrid_env():
    import gymnasium
    import minigrid  # noqa: F401
    return gymnasium.make("MiniGrid-DoorKey-8x8-v0")


def minigrid_loop():
    return of_env(minigrid_env().unwrapped)


def minigrids():
    from gymnasium.vector import SyncVectorEnv
    minigrid_env()
    return of_vector(SyncVectorEnv([minigrid_env] * N), 7)


def mpe2_env():
    from mpe2 import simple_spread_v3
    return simple_spread_v3.parallel_env(N=3, max_cycles=25)


def mpe2():
    return of_parallel(mpe2_env())


def mpe2s():
    return of_parallel(*(mpe2_env() for _ in range(N)))


def pufferlib_minigrids():
    import pufferlib.emulation
    import pufferlib.vector

    def make(**given):  # 3.0 gives a buffer and a seed, 1.0 nothing
        from minigrid.wrappers import ImgObsWrapper
        return pufferlib.emulation.GymnasiumPufferEnv(env=ImgObsWrapper(minigrid_env()), **given)

    return of_vector(pufferlib.vector.make(make, num_envs=N, backend=pufferlib.vector.Serial), 7)


def pufferlib_own():
    try:
        import pufferlib.ocean
    except ImportError:
        raise ImportError("it needs PufferLib 2.0.6 or later, whose builds fetch sources from the network") from None
    return of_vector(pufferlib.ocean.env_creator("puffer_squared")(num_envs=N), 5, dtype=np.int32)


def envpool(task, n_actions):
    import envpool
    return of_vector(envpool.make(task, env_type="gymnasium", num_envs=N, num_threads=1), n_actions, dtype=np.int32)


def compare(seconds):
    print("one environment of other libraries")
    line("MiniGrid DoorKey-8x8", minigrid_loop, seconds, ours=key_door)
    line("MPE2 simple_spread, 3 agents", mpe2, seconds, ours=spread)
    print(f"{N} environments in one vector, one thread")
    line("MiniGrid DoorKey-8x8 in Gymnasium's SyncVectorEnv", minigrids, seconds, N, key_doors)
    line("MPE2 simple_spread, 3 agents, one after the other", mpe2s, seconds, N, spreads)
    line("MiniGrid DoorKey-8x8 in PufferLib's serial vector", pufferlib_minigrids, seconds, N, key_doors)
    line("PufferLib's own squared, in C", pufferlib_own, seconds, N, key_doors)
    line("EnvPool MiniGrid-DoorKey-8x8-v0, in C++", lambda: envpool("MiniGrid-DoorKey-8x8-v0", 7), seconds, N, key_doors)
    line("EnvPool CartPole-v1, in C++", lambda: envpool("CartPole-v1", 2), seconds, N, key_doors)
