#!/usr/bin/env python3
"""Kills, starves and fills disks at random, and looks whether anything was lost.

usage: chaos.py BUILD [--seconds 600] [--seed 1] [--jobs 2]

Works are trainings of every learner, solutions, sweeps, data sets and videos, with one and two threads. A work gets up to
five blows (a signal, an allocation refused, a limit on memory, a full disk), after each of which what is there must be
readable or say what is wrong; then it goes on undisturbed, and its results must be those of a work that nobody touched.
"""
import argparse
import collections
import concurrent.futures
import glob
import hashlib
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import commands
from results import of_run, tensors_digest

SIGNALS = {signal.SIGKILL: None, signal.SIGTERM: 143, signal.SIGINT: 130, signal.SIGHUP: 129}


class Fault(Exception):
    pass


def file_digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class Work:
    """Something that Ludus does; `words(place, threads, again)` are its arguments."""
    name = ""

    def words(self, place, threads, again):
        raise NotImplementedError

    def results(self, ludus, place):
        raise NotImplementedError

    def look(self, ludus, place):
        """Looks at what lies there: [(words, what they may exit with)]."""
        return []

    def may_go_on(self, place):
        return False

    def as_good(self, found, expected, kind):
        """Whether results are those that were promised when a blow of that kind did not stop the work."""
        return found == expected

    def keeps(self, path):
        """Whether what a killed one left is kept on purpose."""
        return False


class Training(Work):
    def __init__(self, learner):
        self.name, self.learner = learner, learner

    def words(self, place, threads, again):
        run = os.path.join(place, "run")
        if again == "resume":
            return ["train", run, "--resume", "-q", "-t", str(threads), "--checkpoint-every", "1"]
        extra = ["--checkpoint-every", "1"] + (["--overwrite"] if again else [])
        return commands.train(self.learner, run, threads=threads, extra=extra)

    def results(self, ludus, place):
        run = os.path.join(place, "run")
        return {**of_run(run), "policy": tensors_digest(run + "/policy.safetensors")}

    def may_go_on(self, place):
        return bool(glob.glob(place + "/run/checkpoint*.safetensors"))

    def look(self, ludus, place):
        return [["inspect", os.path.join(place, "run")]] if os.path.isdir(place + "/run") else []


class Solution(Work):
    name = "solve"

    def words(self, place, threads, again):
        return ["solve", commands.scenario("empo/fetch_the_key.yaml"), "-o", os.path.join(place, "run"), "-q", "-t", str(threads), "--set",
                "multigrid.max_steps=14"] + (["--resume"] if again == "resume" else [])

    def results(self, ludus, place):
        return {"solution": file_digest(place + "/run/solution.empo")}

    def may_go_on(self, place):
        return bool(glob.glob(place + "/run/solution.empo*"))

    def look(self, ludus, place):
        return [["inspect", os.path.join(place, "run")]] if os.path.isdir(place + "/run") else []


class Sweep(Work):
    name = "sweep"

    def words(self, place, threads, again):
        return ["sweep", commands.scenario("empo/fetch_the_key.yaml"), "-v", "learner.beta_r=1:100:12:log", "-v", "learner.zeta=1,2,3", "-o",
                os.path.join(place, "sweep.csv"), "-q", "-t", str(threads)]

    def results(self, ludus, place):
        return {"table": file_digest(place + "/sweep.csv")}


class Video(Work):
    name = "record, video"

    def words(self, place, threads, again):
        return ["record", commands.scenario("multigrid/rescue.yaml"), "-o", os.path.join(place, "video.mp4"), "-q", "-t", str(threads), "--size",
                "160", "--frames-per-step", "3"]

    def results(self, ludus, place):
        with open(place + "/video.mp4", "rb") as file:
            bytes_ = file.read()
        at = bytes_.find(b"stsz") # the box of sample sizes: version, size of all, number
        return {"video": hashlib.sha256(bytes_).hexdigest(), "pictures": int.from_bytes(bytes_[at + 12:at + 16], "big") if at > 0 else 0}

    def as_good(self, found, expected, kind):
        # libx264 makes do with less where memory is refused inside it, and does not say so: every picture is there, in other bytes
        return found == expected or (kind in ("allocation", "memory") and found["pictures"] == expected["pictures"])


class Data(Work):
    name = "record, data"

    def words(self, place, threads, again):
        return ["record", commands.scenario("multigrid/rescue.yaml"), "-o", os.path.join(place, "data.h5"), "-q", "-n", "900", "-e", "8", "-t",
                str(threads)]

    def look(self, ludus, place):
        found = [["inspect", path] for path in glob.glob(place + "/*.h5")]
        for path in glob.glob(place + "/data.h5.partial-*"):
            if os.path.isfile(path):
                found.append(["convert", path, "-o", os.path.join(place, "rescued.h5")])
                found.append(["inspect", os.path.join(place, "rescued.h5")])
        return found

    def keeps(self, path):
        # episodes of a killed recording stay, until somebody converts them
        return os.path.exists(path.removesuffix(".journal"))

    def results(self, ludus, place):
        # files differ in the moments at which they were secured: what they hold is compared
        found = subprocess.run([ludus, "inspect", "data.h5"], cwd=place, capture_output=True, text=True, check=False)
        return {"data": found.stdout}


class Chaos:
    def __init__(self, build, seed, folder):
        self.ludus, self.starve = os.path.join(build, "ludus"), os.path.join(build, "starve.so")
        self.seed, self.folder = seed, folder
        self.counts, self.lock, self.faults = collections.Counter(), threading.Lock(), []
        self.environment = dict(os.environ, OMP_WAIT_POLICY="passive")
        self.mounts = self.can_mount()
        self.last = {} # number of a work: the kind of its last blow
        self.references, self.references_locks = {}, collections.defaultdict(threading.Lock)

    def can_mount(self):
        place = os.path.join(self.folder, "mount")
        os.mkdir(place)
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1M", "none", place], capture_output=True).returncode != 0:
            return False
        return subprocess.run(["umount", place], capture_output=True).returncode == 0

    def count(self, *names):
        with self.lock:
            for name in names:
                self.counts[name] += 1

    def run(self, words, limits="", environment=(), blow=None, seconds=0.0):
        """The exit code (below 0: the signal), what it printed to stderr, how long it took."""
        process = subprocess.Popen(["sh", "-c", limits + 'exec "$0" "$@"', self.ludus] + words, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=self.folder,
                                   env={**self.environment, **dict(environment)})
        began = time.time()
        if blow:
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.send_signal(blow)
                began = time.time()
        try:
            text = process.communicate(timeout=120)[1].decode(errors="replace")
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Fault("has not ended after two minutes") from None
        return process.returncode, text, time.time() - began

    def reference(self, work):
        """Results of a work that nobody touched, with one thread and with two, and its seconds; made when first asked for."""
        with self.references_locks[work.name]:
            if work.name not in self.references:
                self.make_reference(work)
            return self.references[work.name]

    def make_reference(self, work):
        results = []
        for threads in (1, 2):
            place = tempfile.mkdtemp(dir=self.folder)
            code, text, seconds = self.run(work.words(place, threads, None))
            if code:
                raise Fault(f"does not run undisturbed: {text}")
            results.append(work.results(self.ludus, place))
            shutil.rmtree(place)
        if results[0] != results[1]:
            raise Fault("one thread and two have different results")
        self.references[work.name] = (results[0], seconds)

    def strike(self, work, number, place, draw, again, story):
        """One blow; true when the work is done."""
        threads = draw.choice((1, 1, 2))
        words = work.words(place, threads, again)
        seconds = self.reference(work)[1]
        kind = draw.choice(("signal", "signal", "allocation", "memory", "disk", "disk"))
        limits, environment, blow, told = "", {}, None, kind
        if kind == "signal":
            blow = draw.choice(list(SIGNALS))
            told = blow.name
        elif kind == "allocation":
            environment = {"LD_PRELOAD": self.starve, "LUDUS_STARVE": str(int(10 ** draw.uniform(0.5, 5.0)))}
        elif kind == "memory":
            limits = f"ulimit -v {int(1024 * 10 ** draw.uniform(1.3, 3.0))} && "
        elif self.mounts:
            disk = os.statvfs(place) # what is there stays, and so much may be added
            used = (disk.f_blocks - disk.f_bfree) * disk.f_frsize // 1024
            subprocess.run(["mount", "-o", f"remount,size={used + 4 + int(10 ** draw.uniform(0.0, 3.5))}K", place], check=True,
                           capture_output=True)
        else:
            limits = f"ulimit -f {int(10 ** draw.uniform(0.0, 3.3))} && "
        self.last[number] = kind
        story.append(" ".join(["resume" if again == "resume" else "begin", f"with {threads} threads:", told, limits.replace(" && ", ""),
                               environment.get("LUDUS_STARVE", "")]).strip())
        try:
            code, text, took = self.run(words, limits, environment, blow, draw.uniform(0.0, 1.2 * seconds))
        finally:
            if kind == "disk" and self.mounts:
                subprocess.run(["mount", "-o", "remount,size=1G", place], check=True, capture_output=True)
        self.count("blows", "blows: " + told)
        if code < 0:
            ended = signal.Signals(-code)
            if kind == "signal" and ended == blow:
                self.count("ends: by the signal")
            elif kind == "signal":
                raise Fault(f"{told}: ended by {ended.name}: {text[-300:]}")
            elif ended in (signal.SIGSEGV, signal.SIGABRT) and kind in ("allocation", "memory"):
                self.count("ends: inside a library") # docs/reliability.md: what is refused there ends the program
            else:
                raise Fault(f"{told}: ended by {ended.name}: {text[-300:]}")
        elif code == 0:
            self.count("ends: done all the same")
        else:
            if not text.strip():
                raise Fault(f"{told}: exit code {code} without a message")
            if "Assertion" in text or "Sanitizer" in text:
                raise Fault(f"{told}: {text[-600:]}")
            if kind == "signal":
                if code != SIGNALS[blow]:
                    raise Fault(f"{told}: exit code {code}, expected {SIGNALS[blow]}: {text[-300:]}")
                if took > 30: # on loaded machines; cli/test_signals looks at the second that is promised
                    raise Fault(f"{told}: {took:.1f} s to the end")
            self.count("ends: with a message")
        return code == 0

    def look(self, work, place):
        for words in work.look(self.ludus, place):
            code, text, _ = self.run(words)
            if code not in (0, 1, 2) or (code and not text.strip()):
                raise Fault(f"`{' '.join(words)}` afterwards: {code}: {text[-300:]}")
            self.count("looks", "looks: readable" if code == 0 else "looks: told what is wrong")

    def finish(self, work, place, done):
        """Goes on undisturbed."""
        if done:
            return
        if work.may_go_on(place):
            code, text, _ = self.run(work.words(place, 1, "resume"))
            if code == 0:
                self.count("ends of works: went on")
                return
            raise Fault(f"going on: exit code {code}: {text[-500:]}")
        code, text, _ = self.run(work.words(place, 1, "anew"))
        if code:
            raise Fault(f"beginning anew: exit code {code}: {text[-500:]}")
        self.count("ends of works: begun anew")

    def try_work(self, work, number):
        draw = random.Random(f"{self.seed} {number}")
        place = tempfile.mkdtemp(dir=self.folder, prefix=f"work{number}-")
        story = []
        try:
            if self.mounts:
                subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1G", "none", place], check=True, capture_output=True)
            done, again = False, None
            for _ in range(draw.choice((1, 2, 3, 4, 5))):
                done = self.strike(work, number, place, draw, again, story)
                self.look(work, place)
                if done:
                    break
                again = "resume" if work.may_go_on(place) else "anew"
            self.finish(work, place, done)
            if work.name == "record, data":
                for path in glob.glob(place + "/rescued*"):
                    shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
            found = work.results(self.ludus, place)
            expected = self.reference(work)[0]
            if not (work.as_good(found, expected, self.last[number]) if done else found == expected):
                raise Fault(f"results differ in {', '.join(k for k in found if found[k] != expected[k])}")
            if not done:
                left = [path for path in glob.glob(place + "/**", recursive=True) if ".partial" in path and not work.keeps(path)]
                if left:
                    raise Fault("left over: " + " ".join(left))
            self.count("works", "works: " + work.name)
        except Fault as fault:
            kept = os.path.join(tempfile.gettempdir(), f"ludus-chaos-kept-{self.seed}-{number}")
            shutil.copytree(place, kept, symlinks=True, dirs_exist_ok=True)
            with self.lock:
                self.faults.append(f"{work.name}, work {number} ({', '.join(story)}): {fault}; kept in {kept}")
            print("chaos: " + self.faults[-1], flush=True)
        finally:
            if self.mounts:
                subprocess.run(["umount", "-l", place], capture_output=True)
            shutil.rmtree(place, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="works with this in their name")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="ludus-chaos-")
    works = [Training(name) for name in commands.TRAININGS] + [Solution(), Sweep(), Video(), Data()]
    works = [work for work in works if options.only in work.name]
    began = time.time()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143)) # nothing stays mounted
    try:
        chaos = Chaos(os.path.abspath(options.build), options.seed, folder)
        numbers = itertools.count()
        random.Random(options.seed).shuffle(works)

        def turn():
            while time.time() - began < options.seconds:
                number = next(numbers)
                chaos.try_work(works[number % len(works)], number)

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for future in [pool.submit(turn) for _ in range(options.jobs)]:
                future.result()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for name in sorted(chaos.counts):
        print(f"  {chaos.counts[name]:6d} {name}")
    print(f"chaos: seed {options.seed}, {time.time() - began:.0f} s, disks are "
          f"{'small file systems' if chaos.mounts else 'limits on files'}: {chaos.counts['blows']} blows on {chaos.counts['works']} works, "
          f"{len(chaos.faults)} faults")
    sys.exit(1 if chaos.faults or not chaos.counts["works"] else 0)


if __name__ == "__main__":
    main()
