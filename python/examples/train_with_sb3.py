"""Trains particle/navigation_3 with Stable-Baselines3's PPO and with Ludus, and compares what both reach.

    python train_with_sb3.py [--steps 128000] [--short]

Every agent of every world is a row of one vector, so one policy learns for all three; `VecRows` is all that
Stable-Baselines3 needs to see them. Ludus trains the learner that the scenario names, graph MAPPO.
"""

import argparse
import tempfile
import time

import numpy as np
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecEnv

import ludus


class VecRows(VecEnv):
    """A `ludus.VectorEnv` (SAME_STEP) as Stable-Baselines3's kind of vector: what an agent sees of itself and of all others
    (the nodes of its graph), joined to one vector."""

    PARTS = "observation", "nodes"

    def __init__(self, env):
        self.env = env
        size = sum(int(np.prod(env.single_observation_space[name].shape)) for name in self.PARTS)
        super().__init__(env.num_envs, spaces.Box(-np.inf, np.inf, (size,), np.float32),
                         env.single_action_space)

    def flat(self, observation):
        return np.concatenate([observation[name].reshape(self.num_envs, -1) for name in self.PARTS], 1)

    def reset(self):
        return self.flat(self.env.reset()[0])

    def step_async(self, actions):
        self.actions = actions

    def step_wait(self):
        observation, reward, terminated, truncated, info = self.env.step(self.actions)
        infos = [{} for _ in range(self.num_envs)]
        if "final_obs" in info:
            last = self.flat(info["final_obs"])
            for row in np.flatnonzero(info["_final_obs"]):
                infos[row] = {"terminal_observation": last[row],
                              "TimeLimit.truncated": bool(truncated[row] and not terminated[row])}
        return self.flat(observation), reward, terminated | truncated, infos

    def close(self):
        pass

    def get_attr(self, name, indices=None):
        return [getattr(self.env, name)] * self.num_envs

    def set_attr(self, name, value, indices=None):
        setattr(self.env, name, value)

    def env_method(self, name, *arguments, indices=None, **named):
        return [getattr(self.env, name)(*arguments, **named)] * self.num_envs

    def env_is_wrapped(self, wrapper, indices=None):
        return [False] * self.num_envs


def success(scenario, act, episodes=500, seed=99):
    """Mean reward of an agent's step, and the share of episodes that succeed, where act(rows) chooses."""
    env = VecRows(ludus.VectorEnv(scenario, 100, agents_as_rows=True, autoreset_mode="SameStep", copy=False,
                                  measures=True, seed=seed))
    observation, rewards, found = env.reset(), [], []
    while len(found) < episodes:
        raw, reward, _, _, info = env.env.step(act(env, observation))
        observation = env.flat(raw)
        rewards.append(reward.mean())
        if "final_obs" in info:
            found += info["final_info"]["measures"]["success"][info["_final_obs"]][::scenario.n_agents].tolist()
    return float(np.mean(rewards)), float(np.mean(found))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=128_000, help="environment steps of each")
    parser.add_argument("--short", action="store_true", help="a moment of each, to see that it runs")
    options = parser.parse_args()
    steps, worlds = (400, 4) if options.short else (options.steps, 32)
    overrides = {"learner.steps": steps, **({"run.environments": 4, "learner.evaluation_episodes": 2} if options.short else {})}
    scenario = ludus.Scenario(ludus.scenario_path("particle/navigation_3"), overrides)

    rows = VecRows(ludus.VectorEnv(scenario, worlds, agents_as_rows=True, autoreset_mode="SameStep", copy=False, seed=1))
    begin = time.process_time()
    model = PPO("MlpPolicy", rows, n_steps=25 if options.short else 100, batch_size=100 if options.short else 1200, seed=1,
                device="cpu")
    model.learn(steps * scenario.n_agents)
    print(f"Stable-Baselines3: {time.process_time() - begin:.0f} s of processor time")
    reward, share = success(scenario, lambda env, o: model.predict(o, deterministic=False)[0], 100 if options.short else 500)
    print(f"  mean reward of a step {reward:.3f}, episodes that succeed {100 * share:.0f} %")

    with tempfile.TemporaryDirectory() as folder:
        begin = time.process_time()
        run = ludus.train(scenario, f"{folder}/run", device="cpu")
        print(f"Ludus: {time.process_time() - begin:.0f} s of processor time")
        policies = {}

        def act(env, _observation):
            policy = policies.setdefault(id(env), run.policy_for(env.env.batch))
            if (env.env.batch.steps == 0).any():
                policy.reset(env.env.batch.steps == 0)
            choices, numbers = policy.act()
            return (numbers if scenario.max_continuous else choices).reshape(env.num_envs, *env.action_space.shape)

        reward, share = success(scenario, act, 100 if options.short else 500)
        print(f"  mean reward of a step {reward:.3f}, episodes that succeed {100 * share:.0f} %")


if __name__ == "__main__":
    main()
