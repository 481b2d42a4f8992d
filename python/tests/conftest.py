import os
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]

# The package of the source tree with the library of the build beside it, unless one is named or installed.
if "LUDUS_LIBRARY" in os.environ:
    sys.path.insert(0, str(SOURCE / "python"))

import ludus  # noqa: E402


@pytest.fixture
def scenario():
    return lambda name, **overrides: ludus.Scenario(ludus.scenario_path(name), overrides or None)


SMALL = """ludus: 1
world: particle
particle: {task: simple_spread, episode_length: 5}
run: {threads: 1, environments: 4}
learner: {type: graph-mappo, steps: 400, evaluation_episodes: 2}
"""


@pytest.fixture
def small():
    """A scenario whose learner is done in a moment."""
    return ludus.Scenario("small.yaml", text=SMALL)
