"""The examples run in their short forms, where what they use is installed."""

import functools
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import ludus

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
NEEDS = {"spread_on_two_libraries": ["mpe2", "stable_baselines3", "gymnasium"],
         "train_with_sb3": ["stable_baselines3", "gymnasium"], "ppo_in_pytorch": ["torch", "gymnasium"],
         "solve_and_plot": ["matplotlib"], "rank_a_knowledge_graph": []}


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_example(name, tmp_path):
    missing = [package for package in NEEDS[name] if not find_spec(package)]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not installed")
    paths = [str(EXAMPLES.parent)] if "LUDUS_LIBRARY" in os.environ else []
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, EXAMPLES / f"{name}.py", "--short"], cwd=tmp_path, env=environment,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    if name == "solve_and_plot":
        assert (tmp_path / "solution.png").stat().st_size


def test_readme(tmp_path, monkeypatch):
    """The lines at the head of the README do what they say; loop and training are cut short."""
    pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    source = EXAMPLES.parents[1]
    code = (source / "README.md").read_text().split("```python\n")[1].split("```")[0]
    assert len([line for line in code.splitlines() if line]) <= 10 and "range(1000)" in code
    (tmp_path / "scenarios").symlink_to(source / "scenarios")
    monkeypatch.chdir(tmp_path)
    short = {"learner.steps": 400, "run.environments": 4, "learner.evaluation_episodes": 2}
    monkeypatch.setattr(ludus, "train", functools.partial(ludus.train, overrides=short))
    found = {}
    exec(code.replace("range(1000)", "range(10)"), found)
    assert found["rewards"].shape == (4096,) and found["observations"]["grid"].shape[0] == 4096
    assert found["space"].n_states == found["solution"].n_states and len(found["run"].metrics)


def test_bench(capsys):
    """The benchmark prints what it measures; its figures are not judged here."""
    pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    from ludus import bench
    bench.main(["--seconds", "0.01", "--others"])
    out = capsys.readouterr().out
    assert out.count("% of C") == 24 and "ludus.Env" in out and out.count(", asked for ") == 4
    names = "MiniGrid", "MPE2", "PufferLib", "EnvPool"
    lines = [line for line in out.splitlines() if any(name in line for name in names)]
    assert len(lines) == 8
    for line in lines:  # each was measured, or is named
        assert "steps/s" in line or "not installed" in line or "does not run here" in line, line


def test_peers(capsys):
    """So does the table of peers: each of its rows is measured, or says why not."""
    pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    from ludus import bench_peers
    program = Path(os.environ.get("LUDUS_LIBRARY", "nowhere/libludus.so")).with_name("ludus")
    if not program.exists():
        pytest.skip("the program is not beside the library")
    bench_peers.main(["--seconds", "0.01", "--program", str(program), "--markdown"])
    rows = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert len(rows) == 14 and all(len(row) == 5 for row in rows)
    for work, theirs, ours, times, _ in rows[1:]:
        named = "not installed" in theirs or "does not run here" in theirs
        assert named or (ours.strip() and float(times.replace(",", "")) > 0), work
