#!/usr/bin/env python3
"""Changes sim, learn and kernels a little, in hundreds of ways, and tells which changes no test notices.

usage: mutants.py FOLDER [--count 300] [--seed 1] [--jobs 2] [--minutes N] [--list] [--only REGEX] [--tests REGEX]
       [--seconds N] [--keys FILE]

FOLDER gets an instrumented copy of the project and its build. Each mutant is tried against the tests that enter its
function, quickest first, until one fails, crashes or takes far too long. Those of equivalents.txt are left out.
What was judged stands in mutants-SEED.log: a run that was ended, by --minutes or otherwise, goes on where it was as long as the
project's files are the same.
"""
import argparse
import concurrent.futures
import contextlib
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


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def processor_has(word):
    return os.path.exists("/proc/cpuinfo") and word in read("/proc/cpuinfo").split()


def has_avx512():
    return processor_has("avx512f")


def has_bf16():
    """Products of bfloat16 are those of an instruction or not taken at all."""
    return processor_has("avx512_bf16") or processor_has("amx_bf16")


HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
LAYERS = ("sim", "learn", "kernels")
# How options are told and files are shown; sizes of work for threads; what only runs where there is a GPU, or what only its
# own memory needs, which the emulation has not.
LEFT_OUT = re.compile(r"^kernels/(cuda/|device\.|cpu/onednn|cpu/cpu_device|grid_code" + ("" if has_bf16() else "|cpu/products_bf16") + r")|/cuda|device_batch|device_rollout|automatic\.c$|report\.c$|/summary\.c$|"
                      r"overlay\.c$|describe\.c$|options?\.c$|_options\.c$|stability_report|messages?\.c$|sim/large_array|exact_device|"
                      r"_upload\.c$|nn/capture\.c$|f64\.c$|\.cuh?$|_text\.c$|store/events")
TESTS = ("kernels", "sim", "agents", "learn", "cli", "render", "fuzz")
# These look for other things: documents, signals; and what would run on a GPU runs on its emulation, with the same programs.
OTHER_TESTS = re.compile(r"cuda(?!.*_emulated$)|thread_counts|starved|documents|first_hour|test_cli|examples|fixtures|plot|signals|hosts")
SANITIZE = "-fsanitize=address,bounds"
# Processor time of the tests that are tried on one mutant, without it: the quick ones and those of its own room come first, and of what
# they do not notice more are asked (--seconds: fewer, to look at many mutants where what is noticed late counts as not noticed).
FIRST_SECONDS, MOST_SECONDS = 60, 300


def source_files():
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=SOURCE, capture_output=True, text=True,
                           check=True).stdout.split("\n")
    return [name for name in names if name and os.path.isfile(os.path.join(SOURCE, name))]


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
    def __init__(self, folder, count, seed, only, tests_only="", keys=""):
        self.tests_only = tests_only
        wanted = {line.strip() for line in read(keys).split("\n") if line.strip()} if keys else set()
        self.folder, self.copy = folder, os.path.join(folder, "source")
        self.build = os.path.join(self.copy, "build", "release") # as in the project: a compiler cache knows most of it
        self.files = source_files()
        vectors = ("PLAIN", "AVX2", "AVX512") if has_avx512() else ("PLAIN", "AVX2")
        self.texts, self.tokens, every = {}, {}, {layer: [] for layer in LAYERS}
        for name in self.files:
            layer = name.split("/")[0]
            if layer in LAYERS and name.endswith((".c", ".h", ".inc")) and not LEFT_OUT.search(name):
                self.texts[name] = read(os.path.join(SOURCE, name))
                self.tokens[name], _, found = sources.mutants_of(name, self.texts[name], vectors)
                every[layer] += [m for m in found if re.search(only, name) and
                                 (not wanted or sources.key(m, self.texts[name], self.tokens[name]) in wanted)]
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
        self.known = set() if keys else set(read(self.list_of_dropped).split("\n")) if os.path.exists(self.list_of_dropped) else set()
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
                if write_if_changed(to, '#include "mutant.h"\n#line 1\n' + text):
                    self.changed.add(name)
            elif name in self.texts:
                write_if_changed(to, self.texts[name])
            elif name == "CMakeLists.txt":
                write_if_changed(to, read(os.path.join(SOURCE, name)) + self.settings(by_file))
            else:
                source = os.path.join(SOURCE, name)
                if not os.path.exists(to) or os.stat(to).st_size != os.stat(source).st_size or os.stat(to).st_mtime < os.stat(source).st_mtime:
                    os.makedirs(os.path.dirname(to), exist_ok=True)
                    shutil.copy(source, to)
        for name, to in (("mutant.h", "mutant.h"), ("mutant.c", "base/mutant.c")):
            write_if_changed(os.path.join(self.copy, to), read(os.path.join(HERE, name)))

    def settings(self, instrumented):
        """Lines of CMake: mutants may do what is a warning; sanitizers look at what they read and write, as they do in
        make test-all. Operations are built in a third of the time, and without mutants for a processor that is not here (their
        arrays have fences, kernels/test_fences). All else is compiled as it always is."""
        includes = {name: set(re.findall(r'^#\s*include "([^"]+)"', read(os.path.join(SOURCE, name)), re.MULTILINE))
                    for name in self.files if name.endswith((".c", ".h", ".inc"))}
        reached, more = set(instrumented), True
        while more:
            more = {name for name, names in includes.items() if name not in reached and not names.isdisjoint(reached)}
            reached |= more
        lines = ["", "set_property(SOURCE base/mutant.c APPEND PROPERTY COMPILE_OPTIONS -w)"]
        for name in sorted(reached | {"base/arena.c"}):
            if name.endswith(".c"):
                more = "-O1" if name.startswith("kernels/cpu/ops_") else SANITIZE + ";-fno-sanitize-recover=all"
                lines.append(f'set_property(SOURCE {name} APPEND PROPERTY COMPILE_OPTIONS "-w;{more}")')
        for name in self.files: # a test that has a malloc of its own, but for sanitizers, has to know
            if name.startswith("tests/") and name.endswith(".c") and re.search(r"^void \*malloc\(", read(os.path.join(SOURCE, name)), re.MULTILINE):
                lines.append(f'set_property(SOURCE {name} APPEND PROPERTY COMPILE_OPTIONS "{SANITIZE}")')
        if not has_avx512():
            lines.append("set_property(SOURCE kernels/cpu/ops_avx512.c APPEND PROPERTY COMPILE_DEFINITIONS LUD_MUTANTS_OFF)")
        return "\n".join(lines) + "\n"

    def drop_what_does_not_compile(self, output):
        bad = set()
        places = re.findall(r"^(?:In file included from )?(\S+?):(\d+):\d+: (?:fatal )?error", output, re.MULTILINE)
        # what an instruction cannot take shows in a header of the compiler's
        for name, line in places + re.findall(r"^ +inlined from .*? at (\S+?):(\d+):\d+[,:]$", output, re.MULTILINE):
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
        self.write_copy()
        # programs that call nothing with mutants, as tests of the command line, have to hold mutant.c nevertheless
        link = [f"-DCMAKE_{kind}_LINKER_FLAGS={SANITIZE}{more}" for kind, more in (("EXE", " -Wl,-u,lud_mutant_active"), ("SHARED", ""), ("MODULE", ""))]
        subprocess.run(["cmake", "--preset", "release", "-DLUDUS_CUDA=OFF"] + link, cwd=self.copy, check=True, stdout=subprocess.DEVNULL)
        self.tests = test_targets(self.build, self.tests_only)
        while self.check():
            self.fill()
            self.write_copy()
        for _ in range(12):
            made = subprocess.run(["ninja", "-C", self.build, "-k", "0"] + sorted(self.tests), capture_output=True, text=True, check=False)
            if made.returncode == 0:
                return
            if not self.drop_what_does_not_compile(made.stdout + made.stderr):
                sys.exit("mutants: the copy does not build:\n" + made.stdout[-4000:])
            self.fill()
            self.write_copy()
        sys.exit("mutants: still something that does not compile after twelve rounds")


def test_targets(build, only):
    """Name of the program: its name among the tests. (CTest's own list names no program that is not built yet.)"""
    tests = {}
    for name, program in re.findall(r'^add_test\(\[=*\[(.*?)\]=*\] "([^"]+)"', read(os.path.join(build, "CTestTestfile.cmake")), re.MULTILINE):
        if name.split("/")[0] in TESTS and not OTHER_TESTS.search(name) and re.search(only, name):
            tests[os.path.basename(program)] = name
    return tests


class Runner:
    """Runs tests: a program's tests that enter a mutant's function, and no others, one process a program."""

    def __init__(self, mutants, until, most):
        self.mutants, self.until, self.most = mutants, until, most
        self.seconds, self.enters = {}, {} # of a test, (program, number); tests of a mutant
        self.environment = dict(os.environ, OMP_WAIT_POLICY="passive", OMP_NUM_THREADS="2",
                                ASAN_OPTIONS="detect_leaks=0:quarantine_size_mb=8:allocator_may_return_null=1")

    def run(self, target, seconds, **environment):
        """What happened; None: it passed. So much processor time is allowed, and of the clock ten times as much."""
        folder = tempfile.mkdtemp(prefix="ludus-mutant-")
        if "_emulated" in self.mutants.tests[target]:
            environment["LUDUS_CUDA_MODULE"] = os.path.join(self.mutants.build, "ludus_cuda_emulated.so")
        process = subprocess.Popen(["sh", "-c", f'ulimit -t {int(seconds) + 1} && ulimit -c 0 && exec "$0"', os.path.join(self.mutants.build, target)],
                                   cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                                   start_new_session=True, env=dict(self.environment, TMPDIR=folder, **environment))

        def end():
            with contextlib.suppress(ProcessLookupError): # it has just ended by itself
                os.killpg(process.pid, 9)

        timer = threading.Timer(60 + 10 * seconds, end)
        timer.start()
        try:
            code = process.wait()
            return None if code == 0 else f"exit {code}" if code > 0 else f"signal {-code}"
        finally:
            timer.cancel()
            shutil.rmtree(folder, ignore_errors=True)

    def trace(self, target):
        """[(test, seconds, whether it passed, mutants entered)] of a program."""
        folder, program = os.path.join(self.mutants.folder, "trace"), os.path.join(self.mutants.build, target)
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, target)
        done = path + ".done" # of an earlier run, with this very program
        if not os.path.exists(done) or os.stat(done).st_mtime < os.stat(program).st_mtime:
            for name in os.listdir(folder):
                if name == target or name.startswith(target + "."):
                    os.unlink(os.path.join(folder, name))
            self.run(target, 900, LUDUS_MUTANT_TRACE=path)
            write_if_changed(done, "")
        tests = []
        lines = read(path).split("\n") if os.path.exists(path) else []
        common = [word for line in lines if line.startswith(" ") for word in line.split()] # by processes that the set-up started
        for line in lines:
            words = line.split()
            if len(words) >= 3 and not line.startswith(" "):
                children = f"{path}.{words[0]}" # processes that it started
                entered = common + words[3:] + (read(children).split() if os.path.exists(children) else [])
                tests.append((int(words[0]), float(words[1]), words[2] == "1", {int(n) for n in entered}))
        return target, tests

    def learn_tests(self, jobs):
        """How long each test takes, and which mutants it enters."""
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for target, tests in pool.map(self.trace, sorted(self.mutants.tests)):
                if not tests:
                    print(f"mutants: {target} is left out, it says nothing of its tests", flush=True)
                for number, seconds, passed, entered in tests:
                    if not passed:
                        print(f"mutants: test {number} of {target} is left out, it does not pass without a mutant", flush=True)
                        continue
                    self.seconds[target, number] = seconds
                    for mutant in entered:
                        self.enters.setdefault(mutant, []).append((target, number))

    def tests_for(self, number):
        """[(program, its tests)] of those that enter it: those of its own room (kernels: of its layer), the quick ones first, before those
        of its layer and these before all others, but for what takes very long."""
        file = self.mutants.chosen[number].file
        layer, room = file.split("/")[0], "/".join(file.split("/")[:2])
        chosen, seconds = [], 0.0
        for test in self.enters.get(number, ()):
            name = self.mutants.tests[test[0]]
            near = name.startswith((room + "/", f"{layer}/test_{room.split('/')[1]}")) or layer == "kernels" == name.split("/")[0]
            far = 0 if near else 1 if name.startswith(layer) else 2
            used = self.seconds[test]
            chosen.append((3 * far + (used > 0.3) + (used > 3) + (used > 8) * 4, test[0], used, test))
        allowed = []
        for most in (min(FIRST_SECONDS, self.most), self.most):
            for rank, target, used, test in sorted(chosen, key=lambda c: (c[0], c[2])):
                if (seconds + used < most or not allowed) and all(test != other for *_, other in allowed):
                    seconds += used
                    allowed.append((most, rank, target, used, test))
        programs = {}
        for most, rank, target, used, test in sorted(allowed):
            programs.setdefault((most, rank, target), []).append(test)
        return [(target, tests) for (_, _, target), tests in programs.items()]

    def judge(self, number):
        """What noticed it, None: nothing; how many tests were tried; seconds."""
        began, tried = time.time(), 0
        if self.until and began > self.until:
            return number, "not tried", 0, 0.0
        for target, tests in self.tests_for(number):
            tried += len(tests)
            seconds = sum(self.seconds[test] for test in tests)
            failed = self.run(target, 5 + 5 * seconds, LUDUS_MUTANT=str(number), LUDUS_MUTANT_TESTS=",".join(str(test[1]) for test in tests))
            if failed:
                return number, f"{self.mutants.tests[target]}, {failed}", tried, time.time() - began
        return number, None, tried, time.time() - began


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
    parser.add_argument("--seconds", type=float, default=MOST_SECONDS, help="processor time of the tests that are tried on one mutant")
    parser.add_argument("--only", default="", help="of files whose names match this regular expression")
    parser.add_argument("--keys", default="", help="those that a file names, a line each: FILE | FUNCTION | LINE OF SOURCE | CHANGE")
    parser.add_argument("--tests", default="", help="only with tests whose names match this regular expression")
    parser.add_argument("--list", action="store_true", help="print the mutants and do nothing")
    options = parser.parse_args()
    listed = equivalents()
    mutants = Mutants(os.path.abspath(options.folder), options.count, options.seed, options.only, options.tests, options.keys)
    print(f"mutants: seed {options.seed}, {len(mutants.chosen)} of " +
          ", ".join(f"{n} places in {layer}" for layer, n in mutants.places.items()), flush=True)
    if options.list:
        for number in mutants.chosen:
            print(mutants.key(number))
        return
    mutants.make()
    runner = Runner(mutants, time.time() + 60 * options.minutes if options.minutes else 0, options.seconds)
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
        for number, failed, n_tests, seconds in pool.map(runner.judge, anew):
            if failed == "not tried":
                left.append(number)
                continue
            (killed if failed else survived).append(number)
            line = (f"{'killed' if failed else 'SURVIVED'} {mutants.chosen[number].file}:{mutants.chosen[number].line} | {mutants.key(number)} | "
                    f"{failed or str(n_tests) + ' tests passed'} | {seconds:.1f} s")
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
