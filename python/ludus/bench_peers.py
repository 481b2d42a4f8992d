"""What other programs need for the nearest work that both do, beside what Ludus needs, in one table: `make bench-peers`.

    python -m ludus.bench_peers [--seconds S] [--program build/release/ludus] [--markdown]

Everything is processor time of one thread, the best of several turns. What is not installed, or does not run here, is named
with the reason. Rows of environments are those of `ludus.bench --others`, and vectors of 4,096 in PyTorch and JAX beside them.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from . import bench_others, scenario_path
from .bench import pairs, spent

MANY = 4096  # worlds of a vector that a library steps in one call
EPISODE = 25  # steps


def version(package):
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return package


# ---- environments: loops of k steps of all worlds ----


def spreads():
    from .vector import VectorEnv
    env = VectorEnv(scenario_path("particle/simple_spread"), MANY, threads=1, seed=1, copy=False)
    return bench_others.of_vector(env, 5, (MANY, 3), np.int32)


def vmas_spreads():
    import torch
    import vmas
    torch.set_num_threads(1)
    env = vmas.make_env("simple_spread", num_envs=MANY, device="cpu", continuous_actions=False, n_agents=3, seed=1)
    env.reset()
    generator = torch.Generator().manual_seed(1)
    actions = [torch.randint(0, 5, (MANY,), generator=generator) for _ in env.agents]

    def run(k):
        for i in range(k):
            env.step(actions)
            if i % EPISODE == EPISODE - 1:
                env.reset()

    return run


def jaxmarl_spreads():
    import jax
    with contextlib.redirect_stdout(sys.stderr):  # it tells of what it does not find
        from jaxmarl.environments.mpe.simple_spread import SimpleSpreadMPE
    env = SimpleSpreadMPE(num_agents=3)

    def one(carry, key):
        states, actions = carry
        _, states, *rest = jax.vmap(env.step)(jax.random.split(key, MANY), states, actions)
        return (states, actions), rest[0]

    @jax.jit
    def steps(states, actions, keys):  # which leaves the observations out, as nobody looks at them
        (states, _), rewards = jax.lax.scan(one, (states, actions), keys)
        return states, rewards

    key = jax.random.PRNGKey(1)
    _, states = jax.jit(jax.vmap(env.reset))(jax.random.split(key, MANY))
    actions = {name: jax.random.randint(jax.random.fold_in(key, i), (MANY,), 0, 5) for i, name in enumerate(env.agents)}
    keys = jax.random.split(key, EPISODE)
    jax.block_until_ready(steps(states, actions, keys))  # compiled before it is timed

    def run(k):
        nonlocal states
        for _ in range(k):
            states, rewards = steps(states, actions, keys)
        jax.block_until_ready(rewards)

    return run


# ---- a model checker ----


def storm(folder):
    """Seconds in which Storm reads the transitions that Ludus wrote and finds the best chance of every goal, and its model."""
    import stormpy
    file = str(folder / "graph.drn")

    def work(_=1):
        model = stormpy.build_model_from_drn(file)
        for goal in sorted(model.labeling.get_labels() - {"init", "deadlock"}):
            question = stormpy.parse_properties(f'Pmax=? [F "{goal}"]')[0]
            stormpy.model_checking(model, question)

    return work


def solve(program, scenario, folder, *more):
    """Processor seconds of `ludus solve`, start of the program and writing included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([program, "solve", scenario, "-o", folder, "-q", "-t", "1", *more], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


# ---- networks ----


def program_row(program, bench, row):
    """A row of `ludus bench`, on one thread."""
    words = [program, "bench", bench, "--rows", row, "-t", "1", "--json"]
    found = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    return found[0]["rows"][0]["value"]


def attention(backward):
    """Attention over the edges of 128 complete graphs of 9 nodes, three heads of 16: queries, keys, values given."""
    import torch
    from torch_geometric.nn import TransformerConv
    torch.set_num_threads(1)
    graphs, nodes, heads, channels = 128, 9, 3, 16
    conv = TransformerConv(heads * channels, channels, heads=heads)
    one = [(j, i) for i in range(nodes) for j in range(nodes) if i != j]
    edges = torch.tensor([(g * nodes + j, g * nodes + i) for g in range(graphs) for j, i in one]).t().contiguous()
    q, k, v = (torch.randn(graphs * nodes, heads, channels, requires_grad=backward) for _ in range(3))
    gradient = torch.ones(graphs * nodes, heads, channels)

    def run(n):
        for _ in range(n):
            if not backward:
                with torch.no_grad():
                    conv.propagate(edges, query=q, key=k, value=v, edge_attr=None)
                continue
            conv.propagate(edges, query=q, key=k, value=v, edge_attr=None).backward(gradient)
            q.grad = k.grad = v.grad = None

    return run, len(one) * graphs * heads * channels


def ppo_update(inputs, outputs):
    """An update of PPO on 9,600 samples, 10 epochs of minibatches of 128, with the networks of Ludus's `encoder: mlp`."""
    import torch
    from torch import nn
    torch.set_num_threads(1)
    torch.manual_seed(1)
    samples, epochs, minibatch, width = 9600, 10, 128, 64

    def network(n):
        return nn.Sequential(nn.LayerNorm(inputs), nn.Linear(inputs, width), nn.Tanh(), nn.LayerNorm(width),
                             nn.Linear(width, width), nn.Tanh(), nn.LayerNorm(width), nn.Linear(width, n))

    actor, critic, log_std = network(outputs), network(1), nn.Parameter(torch.zeros(outputs))
    of_actor = [*actor.parameters(), log_std]
    optimisers = [torch.optim.Adam(of_actor, lr=5e-4, eps=1e-5), torch.optim.Adam(critic.parameters(), lr=5e-4, eps=1e-5)]
    seen, did = torch.randn(samples, inputs), torch.randn(samples, outputs)
    before, gain, target, value = (torch.randn(samples) for _ in range(4))

    def run(n):
        for _ in range(n * epochs):
            for rows in torch.randperm(samples).split(minibatch):
                policy = torch.distributions.Normal(actor(seen[rows]), log_std.exp())
                ratio = (policy.log_prob(did[rows]).sum(1) - before[rows]).exp()
                loss = torch.max(-gain[rows] * ratio, -gain[rows] * ratio.clamp(0.8, 1.2)).mean()
                loss = loss - 0.01 * policy.entropy().sum(1).mean()
                now = critic(seen[rows]).squeeze(1)
                near = value[rows] + (now - value[rows]).clamp(-0.2, 0.2)
                value_loss = torch.max(nn.functional.huber_loss(now, target[rows], reduction="none", delta=10.0),
                                       nn.functional.huber_loss(near, target[rows], reduction="none", delta=10.0)).mean()
                for optimiser, parameters, each in zip(optimisers, (of_actor, [*critic.parameters()]), (loss, value_loss)):
                    optimiser.zero_grad()
                    each.backward()
                    nn.utils.clip_grad_norm_(parameters, 10.0)
                    optimiser.step()

    return run


# ---- the table ----


class Table:
    def __init__(self, markdown):
        self.markdown = markdown
        self.line("work", "theirs", "Ludus", "times", "versions")
        if markdown:
            print("|---|---|---|---|---|")

    def line(self, *cells):
        print("| " + " | ".join(cells) + " |" if self.markdown else "{:<66}{:>22}{:>22}{:>10}  {}".format(*cells), flush=True)

    def row(self, work, unit, versions, measure):
        """`measure()` gives theirs and ours: of rates more is better, of seconds less."""
        try:
            theirs, ours = measure()
        except ImportError as error:
            return self.line(work, f"not installed ({error.name or error})", "", "", "")
        except Exception as error:
            text = str(error).splitlines()
            return self.line(work, f"does not run here ({type(error).__name__}{': ' + text[0] if text else ''})", "", "", "")
        times = theirs / ours if unit == "s" else ours / theirs
        text = [f"{x:,.3g} s" if unit == "s" else f"{x:,.0f} {unit}" for x in (theirs, ours)]
        self.line(work, *text, f"{times:,.3g}", ", ".join(version(name) for name in versions))


def rates(theirs, ours, n, seconds, at_once=1):
    """Steps a second of n worlds; theirs does so many steps of all of them at once."""
    def measure():
        there, here = pairs(theirs(), ours(), seconds)
        return n * at_once / there, n / here
    return measure


def least(work, times):
    return min(spent(work, 1) for _ in range(times))


def checked(program, rounds):
    """Storm on a graph of Ludus against both phases of EMPO on the world that it is of, turn by turn."""
    scenario, steps = scenario_path("empo/large"), "multigrid.max_steps=8"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        solve(program, scenario, folder / "written", "--set", steps, "-x", "mdp")
        work = storm(folder / "written")
        theirs, ours = [], []
        for i in range(rounds):
            theirs.append(spent(work, 1))
            ours.append(solve(program, scenario, folder / f"solved-{i}", "--set", steps))
        return min(theirs), min(ours)


def attended(program, backward, seconds):
    run, numbers = attention(backward)
    there = pairs(run, run, seconds)[0]
    # a multiplication and an addition for a score and for a value; backward twice as many, and PyTorch runs forward before it
    forward_rate = program_row(program, "kernels", "graph_attention 128")
    here = 4.0 * numbers / (forward_rate * 1e9)
    if backward:
        here += 8.0 * numbers / (program_row(program, "kernels", "graph_attention_backward 128") * 1e9)
    return 1 / there, 1 / here


def updated(program, rounds):
    return least(ppo_update(6, 2), rounds), program_row(program, "mappo", "observations only, update")


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m ludus.bench_peers", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=4, help="processor time of each row (%(default)s)")
    parser.add_argument("--program", default=shutil.which("ludus"), help="the program, for rows that it measures")
    parser.add_argument("--markdown", action="store_true", help="as a table of Markdown")
    options = parser.parse_args(arguments)
    if not options.program:
        sys.exit("ludus is not in PATH: say where it is with --program")
    others, seconds, program = bench_others, options.seconds, os.path.abspath(options.program)
    rounds = 3 if seconds >= 1 else 1
    table = Table(options.markdown)

    def environments(work, versions, theirs, ours, n=1, at_once=1):
        table.row(work, "steps/s", versions, rates(theirs, ours, n, seconds, at_once))

    one, few, many = "one environment: ", f"{others.N} in a vector: ", f"{MANY:,} in a vector: "
    environments(one + "MiniGrid DoorKey-8x8", ["minigrid"], others.minigrid_loop, others.key_door)
    environments(one + "MPE2 simple_spread by PettingZoo", ["mpe2", "pettingzoo"], others.mpe2, others.spread)
    environments(few + "MiniGrid in Gymnasium's SyncVectorEnv", ["gymnasium"], others.minigrids, others.key_doors, others.N)
    environments(few + "MPE2, one after the other", ["mpe2"], others.mpe2s, others.spreads, others.N)
    environments(few + "MiniGrid in PufferLib's serial vector", ["pufferlib"], others.pufferlib_minigrids, others.key_doors,
                 others.N)
    environments(few + "PufferLib's own squared, in C", ["pufferlib"], others.pufferlib_own, others.key_doors, others.N)
    environments(few + "EnvPool's DoorKey-8x8, in C++", ["envpool"], lambda: others.envpool("MiniGrid-DoorKey-8x8-v0", 7),
                 others.key_doors, others.N)
    environments(many + "VMAS simple_spread, in PyTorch", ["vmas", "torch"], vmas_spreads, spreads, MANY)
    environments(many + "JaxMARL simple_spread, 25 steps compiled as one", ["jaxmarl", "jax"], jaxmarl_spreads, spreads, MANY,
                 EPISODE)
    table.row("Storm: reads a graph, best chance of each goal; here rules to EMPO", "s", ["stormpy"],
              lambda: checked(program, rounds))
    geometric = ["torch_geometric", "torch"]
    table.row("PyG: attention, 128 complete graphs of 9, 3 x 16", "times/s", geometric,
              lambda: attended(program, False, seconds))
    table.row("the same forward and backward", "times/s", geometric, lambda: attended(program, True, seconds))
    table.row("PyTorch: update of PPO, 9,600 samples, 10 epochs", "s", ["torch"], lambda: updated(program, rounds))


if __name__ == "__main__":
    main()
