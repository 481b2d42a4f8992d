"""Steps per second through Python beside those of the same calls from C, and beside other libraries.

    python -m ludus.bench [--seconds S] [--others] [--training]

Everything runs on one thread and is timed by the processor time of the process, in pairs A B B A, of which the best
counts: a loaded machine disturbs that least. The loop in C is compiled with `cc`; without one, the library's function is
called through cffi in its place, and the line says so. `--others` adds other libraries, each beside ours, and `--training` the
example that trains simple_spread on two libraries and with Ludus's own learner.
"""

from __future__ import annotations

import argparse
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cffi
import numpy as np

from . import Batch, Scenario, scenario_path
from ._library import ffi, lib

LOOP = """
int loop(int (*step)(void *, const void *, const void *, void *), void *batch, const void *actions, const void *out,
         void *error, int n) {
    int failed = 0;
    for (int i = 0; i < n; i++) failed |= step(batch, actions, out, error);
    return failed;
}
"""


def compiled_loop():
    """The loop in C: called with a batch and a number of steps. ``None`` without a compiler."""
    compiler = shutil.which("cc")
    if not compiler:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "loop.c", Path(folder) / "loop.so"
        source.write_text(LOOP)
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", target, source], check=True)
        outer = cffi.FFI()
        outer.cdef("int loop(void *, void *, void *, void *, void *, int);")
        library = outer.dlopen(str(target))

    def address(thing):
        return outer.cast("void *", int(ffi.cast("uintptr_t", thing)))

    def run(batch, n):
        at = (lib.ludus_batch_step, batch.handle, batch._own_actions, batch._out, batch._error)
        if library.loop(*map(address, at), n):
            raise SystemExit(ffi.string(batch._error.message).decode())

    return run


def raw_loop(batch, n):
    """The same through cffi."""
    step, at = lib.ludus_batch_step, (batch.handle, batch._own_actions, batch._out, batch._error)
    for _ in range(n):
        step(*at)


def spent(run, n):
    """Processor seconds of run(n)."""
    begin = time.process_time()
    run(n)
    return time.process_time() - begin


def pairs(first, second, seconds, rounds=5):
    """Least processor seconds of one step of two loops, measured A B B A."""
    def amount(run):
        n = 1
        while (taken := spent(run, n)) < seconds / 20:
            n *= 4
        return max(1, int(n * seconds / (4 * rounds) / max(taken, 1e-9)))

    n = amount(first), amount(second)
    a, b = [], []
    for _ in range(rounds):
        a.append(spent(first, n[0]) / n[0])
        b.append(spent(second, n[1]) / n[1])
        b.append(spent(second, n[1]) / n[1])
        a.append(spent(first, n[0]) / n[0])
    return min(a), min(b)


class Goals:
    """What is asked of the figures, and the least that was met."""

    def __init__(self):
        self.asked: dict[str, float] = {}
        self.least: dict[str, float] = {}

    def meet(self, what, asked, found):
        self.asked[what] = asked
        self.least[what] = min(self.least.get(what, found), found)

    def tell(self):
        for what, asked in self.asked.items():
            kept = "reached" if self.least[what] >= asked else "NOT reached"
            print(f"{what}: {self.least[what]:,.0f}, asked for {asked:,.0f}: {kept}")


def choices_of(scenario, n):
    generator = np.random.default_rng(1)
    counts = np.array([agent.n_actions for agent in scenario.agents])
    return (generator.random((n, len(counts))) * counts).astype(np.int32)


def batches(world, n, seconds, native, goals):
    """A loop in C against Batch.step and VectorEnv.step, which ask for the same. What copies is not held to the goal."""
    from .vector import END_OF, AutoresetMode, VectorEnv
    scenario = Scenario(scenario_path(world))
    choices = choices_of(scenario, n)
    given = choices if scenario.n_agents > 1 else choices[:, 0]

    def line(name, step, actions, end, final):
        base = Batch(scenario, n, seed=1, threads=1, end=end, final=final)
        base.choices[:] = choices
        base.reset()

        def run(k):
            for _ in range(k):
                step(actions)

        in_c, here = pairs(lambda k: native(base, k), run, seconds)
        if "copy=True" not in name:
            goals.meet(f"percent of the native batch at {n:,} environments", 95 if n >= 4096 else 70, 100 * in_c / here)
        print(f"  {name:<42}{n / here:>14,.0f} steps/s  {100 * in_c / here:5.1f} % of C ({n / in_c:,.0f})")

    print(f"{world}, {scenario.n_agents} agent{'s' * (scenario.n_agents > 1)}, {n} environments")
    batch = Batch(scenario, n, seed=1, threads=1)
    batch.reset()
    line("Batch.step", batch.step, choices, "resets", False)
    for copy, mode in ((False, AutoresetMode.NEXT_STEP), (False, AutoresetMode.SAME_STEP), (True, AutoresetMode.NEXT_STEP)):
        env = VectorEnv(scenario, n, threads=1, copy=copy, autoreset_mode=mode, seed=1)
        env.reset()
        line(f"VectorEnv.step, {mode.name}, copy={copy}", env.step, given, END_OF[mode], env.batch.final_states is not None)


def single(world, seconds, native, goals):
    from .env import Env
    scenario = Scenario(scenario_path(world))
    batch = Batch(scenario, 1, seed=1, threads=1)
    batch.reset()
    env = Env(scenario, seed=1)
    env.reset()
    actions = choices_of(scenario, 1024)[:, 0].tolist()

    def gym(k):
        for i in range(k):
            *_, terminated, truncated, _ = env.step(actions[i & 1023])
            if terminated or truncated:
                env.reset()

    in_c, here = pairs(lambda k: native(batch, k), gym, seconds)
    through, _ = pairs(lambda k: raw_loop(batch, k), gym, seconds)
    goals.meet("steps/s of one environment through the C interface", 300_000, 1 / in_c)
    goals.meet("steps/s of one environment through ludus.Env", 100_000, 1 / here)
    print(f"{scenario.name}, one environment")
    print(f"  {'the C interface':<42}{1 / in_c:>14,.0f} steps/s")
    print(f"  {'the same through cffi':<42}{1 / through:>14,.0f} steps/s")
    print(f"  {'ludus.Env':<42}{1 / here:>14,.0f} steps/s")


def training(short):
    """The example of two libraries, where this is the package of a source tree."""
    example = Path(__file__).resolve().parents[1] / "examples" / "spread_on_two_libraries.py"
    if not example.exists():
        print("trainings: python/examples of the source tree is not beside this package")
        return
    called, sys.argv = sys.argv, [str(example), *(["--short"] if short else [])]
    try:
        runpy.run_path(str(example), run_name="__main__")
    except ImportError as error:
        print(f"trainings: {error.name} is not installed")
    finally:
        sys.argv = called


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m ludus.bench", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=4, help="processor time of each line (%(default)s)")
    parser.add_argument("--others", action="store_true", help="other libraries too, where they are installed")
    parser.add_argument("--training", action="store_true", help="trainings of simple_spread too")
    options = parser.parse_args(arguments)
    native = compiled_loop()
    if native is None:
        print("no C compiler: the library is called through cffi where these lines say C")
        native = raw_loop
    goals = Goals()
    for n in (4096, 64):
        for world in ("multigrid/rescue", "multigrid/key_door_8x8", "particle/simple_spread"):
            batches(world, n, options.seconds, native, goals)
    single("multigrid/tiny", options.seconds, native, goals)
    single("particle/simple", options.seconds, native, goals)
    goals.tell()
    if options.others:
        from .bench_others import compare
        compare(options.seconds)
    if options.training:
        training(options.seconds < 0.1)


if __name__ == "__main__":
    main()
