#!/usr/bin/env python3
"""Changes sim, learn and kernels a little, in hundreds of ways, and tells which changes no test notices.

usage: mutants.py FOLDER [--count 300] [--seed 1] [--jobs 2] [--minutes N] [--list] [--only TEXT]

FOLDER gets an instrumented copy of the project and its build. Each mutant is tried against the tests that enter its
function, quickest first, until one fails, crashes or takes far too long. Those of equivalents.txt are left out.
What was judged stands in mutants-SEED.log: a run that was ended, by --minutes or otherwise, goes on where it was as long as the
project's files are the same.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import sources

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
LAYERS = ("sim", "learn", "kernels")
# How options are told and files are shown; sizes of work for threads; what only runs where there is a GPU.
LEFT_OUT = re.compile(r"^kernels/(cuda/|device\.|cpu/onednn|cpu/cpu_device|grid_code)|/cuda|device_batch|device_rollout|automatic\.c$|report\.c$|/summary\.c$|"
                      r"overlay\.c$|describe\.c$|options?\.c$|_options\.c$|stability_report|messages?\.c$|sim/large_array|exact_device|"
                      r"particle_upload|f64\.c$|\.cuh?$|_text\.c$|store/events")
TESTS = ("kernels", "sim", "agents", "learn", "cli")
# These look for other things: refused memory, a GPU, documents.
OTHER_TESTS = re.compile(r"out_of_memory|cuda|thread_counts|starved|documents|first_hour|test_cli|examples|fixtures|plot|signals")
# Processor time of all tests that are tried on one mutant, without it; the quickest come first.
MOST_SECONDS = 40


def source_files():
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=SOURCE, capture_output=True, text=True,
                           check=True).stdout.split("\n")
    return [name for name in names if name and os.path.isfile(os.path.join(SOURCE, name))]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write_if_changed(path, text):
    """Keeps the time of what is as it was, so that it is not built again. Whether it was changed."""
    if os.path.exists(path) and read(path) == text:
        return False
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return True


def equivalents():
    listed = {}
    for line in read(os.path.join(HERE, "equivalents.txt")).split("\n"):
        if line and not line.startswith("#"):
            parts = line.rsplit(" | because ", 1)
            if len(parts) != 2 or not parts[1].strip():
                sys.exit(f"equivalents.txt: expected `... | because REASON`, found: {line}")
            listed[parts[0].strip()] = parts[1].strip()
    return listed


class Mutants:
    def __init__(self, folder, count, seed, only):
        self.folder, self.copy, self.build = folder, os.path.join(folder, "source"), os.path.join(folder, "build")
        self.files = source_files()
        self.texts, self.tokens, every = {}, {}, {layer: [] for layer in LAYERS}
        for name in self.files:
            layer = name.split("/")[0]
            if layer in LAYERS and name.endswith((".c", ".h", ".inc")) and not LEFT_OUT.search(name):
                self.texts[name] = read(os.path.join(SOURCE, name))
                self.tokens[name], _, found = sources.mutants_of(name, self.texts[name])
                every[layer] += [m for m in found if not only or only in name]
        draw = random.Random(seed)
        self.places = {layer: len(found) for layer, found in every.items()}
        self.reserve = []
        for layer in LAYERS: # a third each; more in reserve for those that do not compile
            self.reserve.append(draw.sample(every[layer], len(every[layer])))
        self.chosen = {}
        self.count = count
        self.numbers = 0
        self.dropped = 0
        os.makedirs(folder, exist_ok=True)
        self.list_of_dropped = os.path.join(folder, "not-compiled.txt") # of earlier runs too
        self.known = set(read(self.list_of_dropped).split("\n")) if os.path.exists(self.list_of_dropped) else set()
        self.fill()

    def fill(self):
        while len(self.chosen) < self.count and any(self.reserve):
            reserve = self.reserve[self.numbers % len(self.reserve)]
            self.numbers += 1
            if reserve:
                mutant = reserve.pop()
                if sources.key(mutant, self.texts[mutant.file], self.tokens[mutant.file]) in self.known:
                    self.dropped += 1
                else:
                    self.chosen[self.numbers] = mutant

    def key(self, number):
        file = self.chosen[number].file
        return sources.key(self.chosen[number], self.texts[file], self.tokens[file])

    def write_copy(self):
        """The copy of the project, mutants within; where each stands."""
        self.lines, self.changed = {}, set()
        by_file = {}
        for number, mutant in self.chosen.items():
            by_file.setdefault(mutant.file, []).append((number, mutant))
        for name in self.files:
            to = os.path.join(self.copy, name)
            if name in by_file:
                text, self.lines[name] = sources.instrumented(self.texts[name], self.tokens[name], by_file[name])
                if write_if_changed(to, text):
                    self.changed.add(name)
            elif name in self.texts:
                write_if_changed(to, self.texts[name])
            elif name == "cmake/instruction_sets.cmake": # operations in a third of the time
                write_if_changed(to, read(os.path.join(SOURCE, name)).replace(">:-O3>", ">:-O1>"))
            else:
                source = os.path.join(SOURCE, name)
                if not os.path.exists(to) or os.stat(to).st_size != os.stat(source).st_size or os.stat(to).st_mtime < os.stat(source).st_mtime:
                    os.makedirs(os.path.dirname(to), exist_ok=True)
                    shutil.copy(source, to)
        shutil.copy(os.path.join(HERE, "mutant.h"), os.path.join(self.copy, "mutant.h"))
        write_if_changed(os.path.join(self.copy, "base", "mutant.c"), read(os.path.join(HERE, "mutant.c")))

    def drop_what_does_not_compile(self, output):
        bad = set()
        for name, line in re.findall(r"^(?:In file included from )?(\S+?):(\d+):\d+: (?:fatal )?error", output, re.MULTILINE):
            name = os.path.relpath(os.path.join(self.build, name), self.copy) if not name.startswith("/") else os.path.relpath(name, self.copy)
            for first, last, number in self.lines.get(name, ()):
                if first <= int(line) <= last:
                    bad.add(number)
        with open(self.list_of_dropped, "a", encoding="utf-8") as file:
            for number in bad:
                print(self.key(number), file=file)
        for number in bad:
            del self.chosen[number]
        self.dropped += len(bad)
        return bad

    def check(self):
        """Drops what the compiler does not even read; sooner than by building."""
        with open(os.path.join(self.build, "compile_commands.json"), encoding="utf-8") as file:
            calls = {os.path.relpath(call["file"], self.copy): call for call in json.load(file)}
        names = {name for name in self.changed if name in calls}
        if any(name.startswith("kernels/") and name not in calls for name in self.changed):
            names.update(name for name in calls if name.startswith("kernels/cpu/ops_"))

        def read_one(name):
            words = re.sub(r" -o \S+", "", calls[name]["command"]) + " -fsyntax-only -O0"
            return subprocess.run(words, shell=True, cwd=calls[name]["directory"], capture_output=True, text=True, check=False,
                                  env=dict(os.environ, CCACHE_DISABLE="1")).stderr

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return self.drop_what_does_not_compile("".join(pool.map(read_one, sorted(names))))

    def make(self):
        flags = f"-w -include {self.copy}/mutant.h"
        self.write_copy()
        subprocess.run(["cmake", "-S", self.copy, "-B", self.build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_C_FLAGS={flags}",
                        "-DLUDUS_CUDA=OFF"], check=True, stdout=subprocess.DEVNULL)
        self.tests = test_targets(self.build)
        while self.check():
            self.fill()
            self.write_copy()
        for _ in range(12):
            made = subprocess.run(["ninja", "-C", self.build, "-k", "0"] + sorted(self.tests), capture_output=True, text=True, check=False)
            if made.returncode == 0:
                self.tests = test_targets(self.build) # ctest names no program that is not built
                return
            if not self.drop_what_does_not_compile(made.stdout + made.stderr):
                sys.exit("mutants: the copy does not build:\n" + made.stdout[-4000:])
            self.fill()
            self.write_copy()
        sys.exit("mutants: still something that does not compile after twelve rounds")


def test_targets(build):
    """Name of the program: its name among the tests."""
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True).stdout
    tests = {}
    for test in json.loads(listed)["tests"]:
        if test["name"].split("/")[0] in TESTS and "command" in test and not OTHER_TESTS.search(test["name"]):
            tests[os.path.basename(test["command"][0])] = test["name"]
    return tests


class Runner:
    def __init__(self, mutants, until):
        self.mutants, self.until = mutants, until
        self.seconds, self.enters = {}, {}
        self.environment = dict(os.environ, OMP_WAIT_POLICY="passive", OMP_NUM_THREADS="2")

    def run(self, target, seconds, **environment):
        """What happened (None: it passed) and the processor time. So much of that is allowed, and of the clock ten times as much."""
        folder = tempfile.mkdtemp(prefix="ludus-mutant-")
        process = subprocess.Popen(["sh", "-c", f'ulimit -t {int(seconds) + 1} && ulimit -c 0 && exec "$0"', os.path.join(self.mutants.build, target)],
                                   cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                                   start_new_session=True, env=dict(self.environment, TMPDIR=folder, **environment))
        timer = threading.Timer(60 + 10 * seconds, lambda: os.killpg(process.pid, 9))
        timer.start()
        try:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            code = process.returncode
            return (None if code == 0 else f"exit {code}" if code > 0 else f"signal {-code}"), used.ru_utime + used.ru_stime
        finally:
            timer.cancel()
            shutil.rmtree(folder, ignore_errors=True)

    def trace(self, target):
        path = os.path.join(self.mutants.folder, "trace-" + target)
        if os.path.exists(path):
            os.unlink(path)
        failed, seconds = self.run(target, 900, LUDUS_MUTANT_TRACE=path)
        entered = {int(n) for n in read(path).split()} if os.path.exists(path) else set()
        return target, failed, seconds, entered

    def learn_tests(self, jobs):
        """How long each test takes, and which mutants it enters."""
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for target, failed, seconds, entered in pool.map(self.trace, sorted(self.mutants.tests)):
                if failed:
                    print(f"mutants: {target} is left out, it does not pass without a mutant: {failed}", flush=True)
                    continue
                self.seconds[target] = seconds
                for number in entered:
                    self.enters.setdefault(number, []).append(target)

    def tests_for(self, number):
        """Those that enter it: of its own room, of its layer, then the others, the quick ones first."""
        file = self.mutants.chosen[number].file
        layer, room = file.split("/")[0], "/".join(file.split("/")[:2])
        chosen, seconds = [], 0.0
        for target in self.enters.get(number, ()):
            name = self.mutants.tests[target]
            own = 0 if name.startswith(room + "/") else 1 if name.startswith(layer) else 2
            chosen.append(((self.seconds[target] > 5) * 3 + own, self.seconds[target], target))
        first = []
        for _, used, target in sorted(chosen):
            if seconds + used < MOST_SECONDS or not first:
                seconds += used
                first.append(target)
        return first

    def judge(self, number):
        began = time.time()
        if self.until and began > self.until:
            return number, "not tried", 0.0
        for target in self.tests_for(number):
            failed, _ = self.run(target, 5 + 5 * self.seconds[target], LUDUS_MUTANT=str(number))
            if failed:
                return number, f"{self.mutants.tests[target]}, {failed}", time.time() - began
        return number, None, time.time() - began


def open_log(path, files):
    """What a run before has found with the same files, {key: whether it was killed}, and the log to go on with."""
    mark = hashlib.sha256("".join(name + read_bytes(name) for name in sorted(files)).encode()).hexdigest()[:16]
    known, lines = {}, read(path).split("\n") if os.path.exists(path) else []
    same = bool(lines) and lines[0] == "files " + mark
    for line in lines[1:] if same else ():
        parts = line.split(" | ")
        if len(parts) >= 7 and parts[0].split(" ")[0] in ("killed", "SURVIVED"):
            known[" | ".join(parts[1:-2])] = parts[0].startswith("killed")
    log = open(path, "a" if same else "w", encoding="utf-8")
    if not same:
        print("files " + mark, file=log, flush=True)
    return known, log


def read_bytes(name):
    with open(os.path.join(SOURCE, name), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--minutes", type=float, default=0, help="after which no other mutant is begun; 0: all")
    parser.add_argument("--only", default="", help="of files with this in their name")
    parser.add_argument("--list", action="store_true", help="print the mutants and do nothing")
    options = parser.parse_args()
    listed = equivalents()
    mutants = Mutants(os.path.abspath(options.folder), options.count, options.seed, options.only)
    print(f"mutants: seed {options.seed}, {len(mutants.chosen)} of " +
          ", ".join(f"{n} places in {layer}" for layer, n in mutants.places.items()), flush=True)
    if options.list:
        for number in mutants.chosen:
            print(mutants.key(number))
        return
    mutants.make()
    runner = Runner(mutants, time.time() + 60 * options.minutes if options.minutes else 0)
    runner.learn_tests(options.jobs)
    if not runner.seconds:
        sys.exit("mutants: no test passes without a mutant")
    equal = [number for number in mutants.chosen if mutants.key(number) in listed]
    tried = [number for number in mutants.chosen if number not in set(equal)]
    killed, survived, left = [], [], []
    known, log = open_log(os.path.join(options.folder, f"mutants-{options.seed}.log"), mutants.files)
    for number in tried:
        if mutants.key(number) in known:
            (killed if known[mutants.key(number)] else survived).append(number)
    if known:
        print(f"mutants: {len(killed) + len(survived)} were judged by a run before", flush=True)
    anew = [number for number in tried if mutants.key(number) not in known]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for number, failed, seconds in pool.map(runner.judge, anew):
            if failed == "not tried":
                left.append(number)
                continue
            (killed if failed else survived).append(number)
            line = (f"{'killed' if failed else 'SURVIVED'} {mutants.chosen[number].file}:{mutants.chosen[number].line} | {mutants.key(number)} | "
                    f"{failed or (str(len(runner.tests_for(number))) + ' tests passed')} | {seconds:.1f} s")
            print(line, file=log, flush=True)
            if not failed:
                print(line, flush=True)
    share = 100 * len(killed) / max(1, len(killed) + len(survived))
    if left:
        print(f"mutants: {len(left)} are left; the same command goes on")
    print(f"mutants: seed {options.seed}: {len(mutants.chosen) - len(left)} mutants, {len(killed)} killed, {len(survived)} survived, "
          f"{len(equal)} equivalent; {mutants.dropped} did not compile; {share:.1f} % of those not equivalent were noticed")
    sys.exit(0 if share >= 97 and not left else 1)


if __name__ == "__main__":
    main()
