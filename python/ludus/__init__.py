"""Ludus: multi-agent worlds, exact solutions and learners.

    env = ludus.VectorEnv("rescue.yaml", num_envs=4096)

`Env`, `VectorEnv` need gymnasium, `ParallelEnv` pettingzoo; everything else NumPy alone (`StateSpace.matrix` scipy).
"""

from typing import TYPE_CHECKING

from ._library import Error
from ._library import version as __version__
from .batch import Batch
from .policy import Policy
from .scenario import Agent, Part, Renderer, Scenario, scenario_path

if TYPE_CHECKING:
    from .env import Env
    from .exact import Solution, StateSpace, solve
    from .parallel import ParallelEnv
    from .proofs import Answer, KnowledgeGraph, Proof
    from .training import Run, record, train
    from .vector import VectorEnv

# What is imported when it is first asked for, since it needs more than NumPy or is seldom needed.
_LATER = {"Env": "env", "VectorEnv": "vector", "ParallelEnv": "parallel", "StateSpace": "exact", "Solution": "exact",
          "solve": "exact", "train": "training", "Run": "training", "record": "training", "Proof": "proofs",
          "Answer": "proofs", "KnowledgeGraph": "proofs"}

__all__ = ["Agent", "Answer", "Batch", "Env", "Error", "KnowledgeGraph", "ParallelEnv", "Part", "Policy", "Proof", "Renderer",
           "Run", "Scenario", "Solution", "StateSpace", "VectorEnv", "__version__", "record", "scenario_path", "solve",
           "train"]


def __getattr__(name):
    if name not in _LATER:
        raise AttributeError(f"module 'ludus' has no attribute {name!r}")
    from importlib import import_module
    return getattr(import_module(f".{_LATER[name]}", __name__), name)


def __dir__():
    return sorted(__all__)
