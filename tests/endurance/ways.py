#!/usr/bin/env python3
"""Trains every shipped scenario in other ways, and looks whether the same comes out.

usage: ways.py BUILD [--seconds 6] [--seed 1] [--only REGEX] [--set KEY=VALUE]

Each scenario with a learner is trained for some seconds, which says how many iterations that is; then so many in one go;
broken off at random moments and gone on with; with three threads; and with learner.shares=2 by one process and by two, where
there is MPI. Checkpoints and metrics must be the same bytes, but for what clocks say.
"""
import argparse
import glob
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import commands
from results import of_run

MOST_SESSIONS = 7
BY_TWO = ["mpirun", "--oversubscribe", "--allow-run-as-root", "-n", "2"]


class Fault(Exception):
    pass


def call(words, seconds=None):
    """Runs a command, interrupted after so many seconds (None: never). Its exit code, and what it said."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        said = process.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=120)[0]
    return process.returncode, said


class Ways:
    def __init__(self, build, options, folder):
        self.ludus = os.path.join(os.path.abspath(build), "ludus")
        self.seconds, self.folder = options.seconds, folder
        self.random = random.Random(options.seed)
        self.sets = [word for key in options.set for word in ("--set", key)]
        self.processes = shutil.which("mpirun") is not None

    def train(self, what, run, more, threads=1, launcher=(), seconds=None):
        words = [*launcher, self.ludus, "train", what, "-q", "-t", str(threads), *more]
        return call(words if what == run else [*words, "-o", run, *self.sets], seconds)

    def whole(self, scenario, name, more, **how):
        """A training in one go: what it comes to, and how long it took."""
        run, began = os.path.join(self.folder, name), time.time()
        code, said = self.train(scenario, run, more, **how)
        if code:
            raise Fault(f"{name}: exit code {code}: {said[-300:]}")
        return of_run(run), time.time() - began

    def broken_off(self, scenario, until, duration):
        """The same in several sessions: what it comes to, and how many there were."""
        run = os.path.join(self.folder, "parts")
        for session in range(MOST_SESSIONS):
            last = session == MOST_SESSIONS - 1
            seconds = None if last else max(0.05, self.random.random() * duration * 0.6)
            there = os.path.exists(run + "/checkpoint.safetensors")
            if there:
                code, said = self.train(run, run, ["--resume", *until], seconds=seconds)
            else:
                code, said = self.train(scenario, run, ["--overwrite", *until] if session else until, seconds=seconds)
            if code not in (0, 130, -signal.SIGINT): # the last one: before anything was there to hear it
                raise Fault(f"session {session}: exit code {code}: {said[-300:]}")
            if code == 0:
                return of_run(run), session + 1
        raise Fault("does not come to its end")

    def look(self, scenario):
        code, said = self.train(scenario, os.path.join(self.folder, "trial"), [], seconds=self.seconds)
        if code == 2:
            return "passed over: " + said.splitlines()[0][:100] if said else "passed over"
        stopped = re.search(r"stopped after (\d+) of", said)
        until = ["--until", str(max(1, int(stopped.group(1))))] if code and stopped else []
        if code and not stopped:
            raise Fault(f"trial: exit code {code}: {said[-300:]}")
        expected, duration = self.whole(scenario, "whole", until)
        found = {"three threads": self.whole(scenario, "threads", until, threads=3)[0]}
        parts, sessions = self.broken_off(scenario, until, duration)
        found[f"{sessions} sessions"] = parts
        wrong = [way for way in found if found[way] != expected]
        ways = list(found)
        if self.processes:
            shares = [*until, "--set", "learner.shares=2"]
            ways.append("two processes")
            if self.whole(scenario, "one", shares)[0] != self.whole(scenario, "two", shares, launcher=BY_TWO)[0]:
                wrong.append("two processes")
        if wrong:
            raise Fault("something else comes out with " + ", ".join(wrong))
        return f"{until[1] if until else 'all'} iterations, {duration:.1f} s: the same with " + ", ".join(ways)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args()
    scenarios = os.path.join(commands.SOURCE, "scenarios")
    n = n_faults = 0
    for path in sorted(glob.glob(scenarios + "/**/*.yaml", recursive=True)):
        name = os.path.relpath(path, scenarios)
        with open(path, encoding="utf-8") as file:
            learns = re.search(r"^learner:", file.read(), re.MULTILINE)
        if not learns or not re.search(options.only, name):
            continue
        folder = tempfile.mkdtemp(prefix="ludus-ways-")
        try:
            says = Ways(options.build, options, folder).look(path)
            n += not says.startswith("passed over")
        except Fault as fault:
            says, n, n_faults = f"FAULT: {fault}", n + 1, n_faults + 1
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print(f"{name}: {says}", flush=True)
    print(f"ways: {n} scenarios, {n_faults} faults")
    sys.exit(1 if n_faults or not n else 0)


if __name__ == "__main__":
    main()
