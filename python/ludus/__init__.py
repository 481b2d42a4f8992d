"""Ludus: multi-agent worlds, exact solutions and learners.

    env = ludus.VectorEnv("rescue.yaml", num_envs=4096)

`Env`, `VectorEnv` need gymnasium, `ParallelEnv` pettingzoo; everything else NumPy alone (`StateSpace.matrix` scipy).
"""

from ._library import Error
from ._library import version as __version__
from .batch import Batch
from .policy import Policy
from .scenario import Agent, Part, Renderer, Scenario, scenario_path

_LATER = {"Env": "env", "VectorEnv": "vector", "ParallelEnv": "parallel", "StateSpace": "exact", "Solution": "exact",
          "solve": "exact", "train": "training", "Run": "training", "record": "training", "Proof": "proofs",
          "Answer": "proofs", "KnowledgeGraph": "proofs"}

__all__ = ["__version__", "Agent", "Batch", "Error", "Part", "Policy", "Renderer", "Scenario", "scenario_path", *_LATER]


def __getattr__(name):
    if name not in _LATER:
        raise AttributeError(f"module 'ludus' has no attribute {name!r}")
    from importlib import import_module
    return getattr(import_module(f".{_LATER[name]}", __name__), name)


def __dir__():
    return sorted(__all__)
