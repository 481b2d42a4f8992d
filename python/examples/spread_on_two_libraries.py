"""Trains simple_spread with Stable-Baselines3's PPO on Ludus and on MPE2: the same learner, the same number of steps; and
with Ludus's own learner, graph MAPPO, for as many steps and for five times as many.

    python spread_on_two_libraries.py [--steps 200000] [--short]

Every agent is a row of the vector that Stable-Baselines3 sees, on both sides. All policies are then judged in the same 1,000
episodes of Ludus's world. One thread each, but PyTorch's own where OMP_NUM_THREADS does not say otherwise.
"""

import argparse
import tempfile
import time

import numpy as np
from gymnasium import spaces
from mpe2 import simple_spread_v3
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecEnv

import ludus


class Rows(VecEnv):
    """What both vectors have of Stable-Baselines3's kind of vector."""

    def __init__(self, n):
        super().__init__(n, spaces.Box(-np.inf, np.inf, (18,), np.float32), spaces.Discrete(5))

    def step_async(self, actions):
        self.actions = actions

    def ends(self, rows, last):
        """Infos of rows whose episodes were cut by the limit of steps."""
        infos = [{} for _ in range(self.num_envs)]
        for row in np.flatnonzero(rows):
            infos[row] = {"terminal_observation": last[row], "TimeLimit.truncated": True}
        return infos

    def close(self):
        pass

    def get_attr(self, name, indices=None):
        return [None] * self.num_envs

    def set_attr(self, name, value, indices=None):
        raise AttributeError(name)

    def env_method(self, name, *arguments, indices=None, **named):
        raise AttributeError(name)

    def env_is_wrapped(self, wrapper, indices=None):
        return [False] * self.num_envs


class OnLudus(Rows):
    def __init__(self, worlds):
        self.env = ludus.VectorEnv(ludus.scenario_path("particle/simple_spread"), worlds, agents_as_rows=True,
                                   autoreset_mode="SameStep", copy=False, threads=1, seed=1)
        super().__init__(self.env.num_envs)

    def reset(self):
        return self.env.reset()[0]

    def step_wait(self):
        observation, reward, _, truncated, info = self.env.step(self.actions)
        return observation.copy(), reward.copy(), truncated.copy(), self.ends(truncated, info.get("final_obs"))


class OnMPE2(Rows):
    def __init__(self, worlds):
        self.envs = [simple_spread_v3.parallel_env(N=3, max_cycles=25) for _ in range(worlds)]
        super().__init__(3 * worlds)

    def reset(self):
        found = [env.reset(seed=1 + i)[0] for i, env in enumerate(self.envs)]
        return np.stack([row for each in found for row in each.values()])

    def step_wait(self):
        observations, rewards, over, last = [], [], [], []
        for i, env in enumerate(self.envs):
            seen, reward, _, cut, _ = env.step(dict(zip(env.agents, self.actions[3 * i:3 * i + 3], strict=True)))
            last += seen.values()
            rewards += reward.values()
            over += cut.values()
            observations += (env.reset()[0] if any(cut.values()) else seen).values()
        over = np.array(over)
        return np.stack(observations), np.array(rewards, np.float32), over, self.ends(over, last)


def judged(act, worlds=1000):
    """Mean return of an agent's episode in Ludus's world, where act(rows) chooses."""
    env = OnLudus(worlds)
    observation, total = env.reset(), 0
    for _ in range(25):
        env.step_async(act(observation))
        observation, reward, *_ = env.step_wait()
        total = total + reward
    return float(total.mean())


def report(name, work, before=None):
    """Does the work, which returns who acts then, and tells what it took and what it came to."""
    wall, begin = time.perf_counter(), time.process_time()
    act = work()
    wall, spent = time.perf_counter() - wall, time.process_time() - begin
    at_first = "" if before is None else f" ({before:.2f} untrained)"
    print(f"{name:<58}{wall:8.1f} s{spent:8.1f} s of processor time  return of an agent {judged(act):7.2f}{at_first}",
          flush=True)


def with_sb3(env, steps, length, batch):
    model = PPO("MlpPolicy", env, n_steps=length, batch_size=batch, gamma=0.95, seed=1, device="cpu")

    def act(observation):
        return model.predict(observation)[0]

    def work():
        model.learn(steps * 3)
        return act

    return work, judged(act)


def with_ludus(steps, overrides):
    """Ludus's own learner, and what its agents do on rows of observations."""
    with tempfile.TemporaryDirectory() as folder:
        run = ludus.train(ludus.scenario_path("particle/simple_spread"), f"{folder}/run", device="cpu",
                          overrides={"learner.steps": steps, "run.threads": 1, **overrides})
        policy = run.policy
        policy.act(np.zeros((1000, 3, 18), np.float32))  # which is read from the folder now
    return lambda rows: policy.act(rows.reshape(-1, 3, 18))[0].reshape(-1).copy()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200_000, help="environment steps of each")
    parser.add_argument("--short", action="store_true", help="a moment of each, to see that it runs")
    options = parser.parse_args()
    steps, worlds, length = (200, 4, 25) if options.short else (options.steps, 16, 125)
    few = {"run.environments": 4, "learner.evaluation_episodes": 2} if options.short else {}
    print(f"simple_spread, three agents, {steps:,} steps of the environment where nothing else is said")
    for name, make in (("PPO of Stable-Baselines3 on Ludus", OnLudus), ("PPO of Stable-Baselines3 on MPE2", OnMPE2)):
        report(name, *with_sb3(make(worlds), steps, length, 75 if options.short else 1500))
    report("graph MAPPO of Ludus, evaluations included", lambda: with_ludus(steps, few))
    report(f"graph MAPPO of Ludus, {5 * steps:,} steps", lambda: with_ludus(5 * steps, few))


if __name__ == "__main__":
    main()
