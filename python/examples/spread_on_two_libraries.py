"""Trains simple_spread with Stable-Baselines3's PPO on Ludus and on MPE2: the same learner, the same number of steps.

    python spread_on_two_libraries.py [--steps 200000] [--short]

Every agent is a row of the vector that the learner sees, on both sides. Both policies are then judged in Ludus's world.
"""

import argparse
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


def judged(model, worlds):
    """Mean return of an agent's episode in Ludus's world."""
    env = OnLudus(worlds)
    observation, total = env.reset(), 0
    for _ in range(25):
        env.step_async(model.predict(observation)[0])
        observation, reward, *_ = env.step_wait()
        total = total + reward
    return float(total.mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200_000, help="environment steps of each")
    parser.add_argument("--short", action="store_true", help="a moment of each, to see that it runs")
    options = parser.parse_args()
    steps, worlds, length = (200, 4, 25) if options.short else (options.steps, 16, 125)
    for make in (OnLudus, OnMPE2):
        env = make(worlds)
        model = PPO("MlpPolicy", env, n_steps=length, batch_size=75 if options.short else 1500, gamma=0.95, seed=1,
                    device="cpu")
        before, wall, begin = judged(model, 1000), time.perf_counter(), time.process_time()
        model.learn(steps * 3)
        print(f"{make.__name__}: {time.perf_counter() - wall:.1f} s, {time.process_time() - begin:.1f} s of processor time; "
              f"return of an agent {before:.2f} before, {judged(model, 1000):.2f} after")


if __name__ == "__main__":
    main()
