"""Who acts: everybody's policy for a batch, as a RUN has learned or as the scenario names them."""

from __future__ import annotations

import os

import numpy as np

from ._library import Error, call, ffi, lib, owned, pointer
from .batch import Batch, bytes_of


class Policy:
    """Everybody's policy for a batch, with its memory of each environment.

    `run`: the folder of a RUN whose agents act as it has learned or solved; ``None``: those that the scenario names.

    Attributes:
        choices: int32[n][n_agents], numbers: float32[n][n_agents][max_continuous], log_probs: float32[n][n_agents]
            (NaN where a policy does not tell), all written in place by `act`.
    """

    def __init__(self, batch: Batch, run: str | os.PathLike | None = None):
        self.batch, s = batch, batch.scenario
        out = ffi.new("ludus_policy **")
        call(lib.ludus_policy_open, batch.handle, ffi.NULL if run is None else os.fspath(run).encode(), out)
        self.handle = owned(out[0], lib.ludus_policy_free, batch.handle)
        self.choices = np.zeros((batch.n, s.n_agents), np.int32)
        self.numbers = np.zeros((batch.n, s.n_agents, s.max_continuous), np.float32)
        self.log_probs = np.zeros((batch.n, s.n_agents), np.float32)
        self._to = (pointer(self.choices, "int32_t *"),
                    pointer(self.numbers, "float *") if s.max_continuous else ffi.NULL,
                    pointer(self.log_probs, "float *"))

    def reset(self, chosen=None) -> None:
        """New episodes everywhere, or where `chosen` bool[n] is true: call it after a reset of the batch, and with
        ``end="resets"`` after a step that ended episodes."""
        mask = None if chosen is None else bytes_of(chosen, self.batch.n, "chosen")
        call(lib.ludus_policy_reset, self.handle, pointer(mask, "uint8_t *"))

    def act(self, observations=None):
        """Actions in the batch's present states, or in what `observations` tell, a dict like those of the batch.

        Observations alone are enough for runs of graph-mappo and clone; others read states, which is an `Error`.
        Returns `choices, numbers`.
        """
        parts, kept = ffi.NULL, []
        if observations is not None:
            parts = ffi.new("void *[]", max(1, len(self.batch.scenario.parts)))
            for part in self.batch.scenario.parts:
                if part.name not in observations:
                    raise Error(f"observations: {part.name!r} is missing")
                array = np.ascontiguousarray(observations[part.name], part.dtype)
                if array.shape != (self.batch.n, *part.world_shape):
                    raise Error(f"observations: {part.name}: expected shape {[self.batch.n, *part.world_shape]}, "
                                f"found {list(array.shape)}")
                kept.append(array)
                parts[part.index] = pointer(array, "void *")
        call(lib.ludus_policy_act, self.handle, parts, *self._to)
        return self.choices, self.numbers
