#!/usr/bin/env python3
"""Long runs of the window, of trainings and of recordings: memory, descriptors, threads and files must stay flat.

usage: soak.py BUILD [--minutes 60] [--seed 1] [--only window training recording events]

Every part gets so many minutes: the window under random events, with its scenario exchanged for another every 20 seconds;
trainings without an end, each learner its share; recordings of data and of video. A process is looked at every second.
"events" is for a build under sanitizers (make test-events): the window of every world, of a solution, of a training that is
followed, of two beside each other, of several environments and the editor, each an equal share of the minutes.
"""
import argparse
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import commands

WINDOW_SCENARIOS = ["multigrid/rescue.yaml", "particle/simple_tag.yaml", "multigrid/crowd.yaml", "tribes/village.yaml",
                    "empo/three_rooms.yaml", "particle/navigation_graph.yaml", "multigrid/lava_bridge.yaml"]


def look(pid):
    """Memory in KiB, descriptors, threads; nothing when the process is gone."""
    try:
        status = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status"))
        return int(status["VmRSS"].split()[0]), len(os.listdir(f"/proc/{pid}/fd")), int(status["Threads"])
    except (OSError, KeyError):
        return None


def is_flat(values, slack, of=max):
    """The most (or least) of the last third is not above that of the third before it by more than `slack`."""
    third = len(values) // 3
    return third < 3 or of(values[2 * third:]) <= of(values[third:2 * third]) + slack


def watch(words, seconds, folder, environment, between=lambda now: None, keep_below=None):
    """Runs it for so long; then Ctrl-C. Gives what was seen, its end and its messages."""
    process = subprocess.Popen(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    began, seen = time.time(), []
    while process.poll() is None and time.time() - began < seconds:
        time.sleep(1)
        now = look(process.pid)
        if now and now[0]:
            seen.append(now)
        between(time.time() - began)
        if keep_below and sum(os.path.getsize(f) for f in glob.glob(folder + "/**", recursive=True) if os.path.isfile(f)) > keep_below:
            break
    ended = process.poll() is not None
    if not ended:
        process.send_signal(signal.SIGINT)
    message = process.communicate(timeout=900)  # a recording may have to be completed, under sanitizers[1].decode(errors="replace")
    return seen, process.returncode, message, ended


def judge(name, seen, code, message, ended, folder, by_itself=False, passing=False):
    """One line of figures; true when everything was flat and nothing was left over. `passing`: recordings, work beside the window
    and larger windows come and go, so that the least of each third is looked at."""
    left = [f for f in glob.glob(folder + "/**", recursive=True) if ".partial" in f] + glob.glob(folder + "/ludus-*")
    memory, descriptors, threads = zip(*seen) if seen else ([0], [0], [0])
    third = max(1, len(seen) // 3)
    wrong = []
    if code not in (0, 130) or (ended and not by_itself):
        wrong.append(f"ended with {code}: {message.strip()[-300:]}")
    if not is_flat(memory, max(4096, max(memory) // (8 if passing else 33)), min if passing else max):
        wrong.append("memory grows")
    # a file is open now and then; one that is never closed raises the least
    if not is_flat(descriptors, 2 * passing, min) or not is_flat(descriptors, 4):
        wrong.append("descriptors grow")
    if not is_flat(threads, 2 * passing, min) or not is_flat(threads, 2 + 4 * passing):
        wrong.append("threads grow")
    if left:
        wrong.append("left over: " + " ".join(sorted(left)))
    print(f"{name}: {len(seen)} s, memory {max(memory[:third]) / 1024:.1f}, {max(memory[third:2 * third] or [0]) / 1024:.1f}, "
          f"{max(memory[2 * third:] or [0]) / 1024:.1f} MiB at most in each third, descriptors {min(descriptors)} to "
          f"{max(descriptors)}, threads {min(threads)} to {max(threads)}{'; ' + '; '.join(wrong) if wrong else ''}", flush=True)
    return not wrong


def window(build, seconds, seed, folder):
    shown = os.path.join(folder, "shown.yaml")
    turn = [0, 0]

    def exchange(now):
        clear(folder)
        if now >= 20 * turn[0]:
            name = WINDOW_SCENARIOS[turn[0] % len(WINDOW_SCENARIOS)]
            with open(shown + ".new", "w") as file:
                file.write(f"include: {commands.scenario(name)}\nrun: {{seed: {seed + turn[0]}}}\n")
            os.replace(shown + ".new", shown)
            turn[0] += 1

    exchange(0)
    environment = dict(os.environ, SDL_VIDEODRIVER="dummy", LD_PRELOAD=os.path.join(build, "random_events.so"), LUDUS_EVENTS=str(seed))
    words = [os.path.join(build, "ludus"), "view", shown, "--play"]
    seen = watch(words, seconds, folder, environment, exchange)
    return judge("window", *seen, folder)


def training(build, seconds, seed, folder):
    """Memories of transitions hold 4 MiB, so that they are full before the first third is over."""
    good = True
    for name in commands.TRAININGS:
        run = os.path.join(folder, name)
        words = [os.path.join(build, "ludus")] + commands.train(name, run, endless=True,
                                                               extra=["-s", str(seed), "--checkpoint-every", "20"])
        seen = watch(words, seconds / len(commands.TRAININGS), folder, dict(os.environ))
        good = judge("training, " + name, *seen, folder) and good
        shutil.rmtree(run, ignore_errors=True)
    return good


def recording(build, seconds, seed, folder):
    good = True
    for file, name, more in (("data.h5", "multigrid/rescue.yaml", ["--episodes", "100000000"]),
                             ("nodes.h5", "particle/navigation_graph.yaml", ["--episodes", "100000000", "-e", "8"]),
                             ("episodes.mp4", "multigrid/rescue.yaml", ["--episodes", "100000000", "--size", "320"]),
                             ("episodes.webm", "particle/simple_tag.yaml", ["--episodes", "100000000", "--size", "240"])):
        words = [os.path.join(build, "ludus"), "record", commands.scenario(name), "-o", os.path.join(folder, file), "-q", "-s",
                 str(seed), "-t", "1"] + more
        seen = watch(words, seconds / 4, folder, dict(os.environ), keep_below=6 << 30)
        good = judge("recording, " + file, *seen, folder) and good
        for path in glob.glob(folder + "/*"):
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    return good


def clear(folder):
    """Pictures and videos that keys made; the last ones may still be written."""
    for file in glob.glob(folder + "/*.png") + glob.glob(folder + "/*.mp4") + glob.glob(folder + "/*.view.yaml"):
        if time.time() - os.path.getmtime(file) > 5:
            os.unlink(file)


def sanitizer():
    """What is preloaded before all else where a build is under GCC's address sanitizer."""
    found = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
    return os.path.realpath(found) if os.path.isabs(found) else ""


def events(build, seconds, seed, folder):
    program = os.path.join(build, "ludus")
    environment = dict(os.environ, XDG_CONFIG_HOME=os.path.join(folder, "config"))
    environment.setdefault("ASAN_OPTIONS", "detect_stack_use_after_return=1:quarantine_size_mb=16:malloc_context_size=12")
    environment.setdefault("UBSAN_OPTIONS", "print_stacktrace=1:halt_on_error=1")
    environment.setdefault("LSAN_OPTIONS", f"suppressions={commands.SOURCE}/cmake/leaks.supp:print_suppressions=0")
    edited, rescue = (os.path.join(folder, name) for name in ("edited.yaml", "rescue.yaml"))  # keys may save what is edited
    solved, trained, followed = (os.path.join(folder, name) for name in ("solved", "trained", "followed"))
    shutil.copy(commands.scenario("multigrid/control_button.yaml"), edited)
    shutil.copy(commands.scenario("multigrid/rescue.yaml"), rescue)
    subprocess.run([program, "solve", commands.scenario("empo/fetch_the_key.yaml"), "-o", solved, "-q"], check=True,
                   stdout=subprocess.DEVNULL, env=environment)
    subprocess.run([program] + commands.train("graph-mappo", trained, extra=["--set", "learner.steps=500"]), check=True,
                   stdout=subprocess.DEVNULL, env=environment)
    navigation = commands.scenario("particle/navigation_graph.yaml")
    scenes = {"multigrid": [rescue], "particle": [commands.scenario("particle/simple_tag.yaml")],
              "proof": [commands.scenario("proof/family_tree.yaml")], "tribes": [commands.scenario("tribes/village.yaml")],
              "editor": [edited], "solution": [solved], "followed": [followed, "--follow"], "compared": [trained, navigation],
              "environments": [rescue, "--envs", "9"]}
    good = True
    for number, (name, words) in enumerate(scenes.items()):
        training = None
        if name == "followed":
            training = subprocess.Popen([program] + commands.train("graph-mappo", followed, endless=True), env=environment,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        own = dict(environment, SDL_VIDEODRIVER="dummy", LUDUS_EVENTS=str(seed + number),
                   LUDUS_FIRST_KEY="e" if name == "editor" else "",
                   LD_PRELOAD=" ".join([sanitizer(), os.path.join(build, "random_events.so")]))
        seen, code, message, ended = watch([program, "view", "--play"] + words, seconds / len(scenes), folder, own,
                                           lambda now: clear(folder))
        if training:
            training.send_signal(signal.SIGINT)
            training.wait()
        count = re.search(r"(\d+) random events", message)
        told = message.replace(count.group(0), "").strip() if count else message
        if re.search("Sanitizer|runtime error", told):
            code = -1
        good = judge(f"{name}, seed {seed + number}, {count.group(1) if count else 'no'} events", seen, code, told, ended, folder,
                     passing=True) and good
    return good


def main():
    parts = {"window": window, "training": training, "recording": recording, "events": events}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", choices=list(parts), default=["window", "training", "recording"])
    options = parser.parse_args()
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    good = True
    for name in options.only:
        folder = tempfile.mkdtemp(prefix="ludus-soak-")
        try:
            good = parts[name](os.path.abspath(options.build), 60 * options.minutes, options.seed, folder) and good
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    print("soak: everything stayed flat" if good else "soak: something grew or was left over, see above")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
