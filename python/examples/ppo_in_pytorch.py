"""PPO in PyTorch, in one file after the manner of CleanRL, on 256 worlds that Ludus steps.

    python ppo_in_pytorch.py [--world particle/simple] [--iterations 100] [--short]

Observations, rewards and flags are tensors that Ludus writes into: `torch.from_numpy` shares the memory of the arrays of
the vector, so no byte is moved between the two.
"""

import argparse
import time

import numpy as np
import torch
from torch import nn

import ludus


def network(inputs, outputs, scale):
    layers = [nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs)]
    for layer, gain in zip(layers[::2], (2 ** 0.5, 2 ** 0.5, scale)):
        nn.init.orthogonal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(*layers)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--world", default="particle/simple", help="one with one part and choices (%(default)s)")
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--short", action="store_true", help="two iterations, to see that it runs")
    options = parser.parse_args()
    iterations, worlds, steps = (2, 16, 30) if options.short else (options.iterations, 256, 50)
    discount, trace, clip, epochs, minibatches = 0.95, 0.95, 0.2, 4, 4
    torch.manual_seed(1)

    env = ludus.VectorEnv(ludus.scenario_path(options.world), worlds, agents_as_rows=True, autoreset_mode="SameStep",
                          copy=False, seed=1)
    n, size = env.num_envs, env.single_observation_space.shape[0]
    actor, critic = network(size, int(env.single_action_space.n), 0.01), network(size, 1, 1)
    optimiser = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=1e-3, eps=1e-5)

    shared = torch.from_numpy(env.reset()[0])  # the array that every step writes
    observations, values = torch.zeros(steps + 1, n, size), torch.zeros(steps + 1, n)
    actions, log_probs, rewards = torch.zeros(steps, n, dtype=torch.long), torch.zeros(steps, n), torch.zeros(steps, n)
    over = torch.zeros(steps, n)

    begin = time.perf_counter()
    for iteration in range(1, iterations + 1):
        with torch.no_grad():
            for t in range(steps):
                observations[t] = shared
                values[t] = critic(observations[t]).squeeze(1)
                chosen = torch.distributions.Categorical(logits=actor(observations[t]))
                actions[t] = chosen.sample()
                log_probs[t] = chosen.log_prob(actions[t])
                _, reward, terminated, truncated, info = env.step(actions[t].to(torch.int32).numpy())
                rewards[t] = torch.from_numpy(reward)
                over[t] = torch.from_numpy(terminated | truncated)
                if "final_obs" in info:  # episodes cut by the limit of steps go on in the value of their last state
                    cut = torch.from_numpy(truncated & ~terminated)
                    rewards[t][cut] += discount * critic(torch.from_numpy(info["final_obs"])[cut]).squeeze(1)
            observations[steps] = shared
            values[steps] = critic(observations[steps]).squeeze(1)
            advantages, after = torch.zeros(steps, n), torch.zeros(n)
            for t in reversed(range(steps)):
                going = 1 - over[t]
                after = rewards[t] + discount * values[t + 1] * going - values[t] + discount * trace * going * after
                advantages[t] = after
            returns = advantages + values[:-1]
        flat = [x.flatten(0, 1) for x in (observations[:-1], actions, log_probs, advantages, returns)]
        for _ in range(epochs):
            for rows in torch.randperm(steps * n).chunk(minibatches):
                seen, did, before, gain, target = (x[rows] for x in flat)
                now = torch.distributions.Categorical(logits=actor(seen))
                ratio = (now.log_prob(did) - before).exp()
                gain = (gain - gain.mean()) / (gain.std() + 1e-8)
                loss = torch.max(-gain * ratio, -gain * ratio.clamp(1 - clip, 1 + clip)).mean()
                loss = loss + 0.5 * (critic(seen).squeeze(1) - target).square().mean() - 0.01 * now.entropy().mean()
                optimiser.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_([*actor.parameters(), *critic.parameters()], 0.5)
                optimiser.step()
        if iteration % 10 == 0 or iteration == iterations:
            rate = iteration * steps * n / (time.perf_counter() - begin)
            print(f"iteration {iteration}: mean reward of a step {rewards.mean():.3f}, {rate:,.0f} steps/s")
    assert np.isfinite(rewards.numpy()).all()


if __name__ == "__main__":
    main()
