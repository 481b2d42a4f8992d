"""Training, and what lies in a RUN."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ._library import Error, fail, ffi, lib, long_call, taken_text
from .batch import Batch
from .policy import Policy
from .scenario import Scenario, as_scenario


class Run:
    """The folder that a training or a solver has left.

    Attributes:
        folder: its path.
        scenario: the scenario that was run.
    """

    def __init__(self, folder: str | os.PathLike):
        self.folder = Path(folder)
        self.scenario = Scenario(self.folder)
        self._policies: dict[int, RunPolicy] = {}

    def __repr__(self):
        return f"Run({os.fspath(self.folder)!r})"

    @property
    def metrics(self) -> np.ndarray:
        """One record per iteration, with ``iteration``, ``seconds`` and the learner's columns; NaN: not measured."""
        with open(self.folder / "metrics.csv", newline="") as file:
            rows = csv.reader(file)
            names = next(rows)
            kinds = [(name, np.int64 if name == "iteration" else np.float64) for name in names]
            return np.array([tuple(int(x) if i == "iteration" else float(x or "nan") for i, x in zip(names, row))
                             for row in rows], kinds)

    def evaluate(self) -> dict[str, Any]:
        """What ``ludus eval`` says of the run."""
        out = ffi.new("char **")
        long_call(lib.ludus_evaluate, os.fspath(self.folder).encode(), out)
        return json.loads(taken_text(out[0]))

    @property
    def policy(self) -> RunPolicy:
        """Everybody's policy, for observations or states that the caller holds."""
        return RunPolicy(self)

    def policy_for(self, batch: Batch) -> Policy:
        """The same for a batch, with its memory of each environment."""
        return Policy(batch, self.folder)


class RunPolicy:
    """Everybody's policy of a run, for observations or states that the caller holds.

    It remembers each of the n environments that it is asked about, where the policy has a memory; another n begins
    anew, and so does `reset`.
    """

    def __init__(self, run: Run):
        self.run, self._of = run, None

    def _policy(self, n):
        if self._of is None or self._of.batch.n != n:
            self._of = Policy(Batch(self.run.scenario, n, threads=1), self.run.folder)
        return self._of

    def reset(self, chosen=None) -> None:
        """New episodes everywhere, or where `chosen` bool[n] is true."""
        if self._of is not None:
            self._of.reset(chosen)

    def act(self, observations=None, *, states=None) -> tuple[np.ndarray, np.ndarray]:
        """Actions drawn for n environments.

        `observations`: a dict of arrays [n][n_agents][...], as those of a `Batch`, or the array itself where worlds have
        one part. `states` uint8[n][state_bytes] instead: for policies that read states; draws then are those of the
        first step. Returns choices int32[n][n_agents] and numbers float32[n][n_agents][max_continuous], which the next
        call overwrites.
        """
        if (observations is None) == (states is None):
            raise Error("act: expected observations, or states")
        if states is not None:
            states = np.ascontiguousarray(states, np.uint8)
            policy = self._policy(len(states))
            policy.batch.set_states(states)
            return policy.act()
        parts = self.run.scenario.parts
        if not isinstance(observations, Mapping):
            if len(parts) != 1:
                raise Error(f"observations: expected a dict of {', '.join(p.name for p in parts)}")
            observations = {parts[0].name: observations}
        first = np.asarray(observations[parts[0].name]) if parts and parts[0].name in observations else None
        if first is None:
            raise Error(f"observations: expected a dict of {', '.join(p.name for p in parts)}")
        return self._policy(len(first)).act(observations)


def train(scenario: str | os.PathLike | Scenario, run: str | os.PathLike, *,
          overrides: Mapping[str, Any] | None = None, device: str = "auto", resume: bool = False,
          overwrite: bool = False, progress: Callable[[int, int, dict[str, float]], Any] | None = None) -> Run:
    """Trains the learner of the scenario's `learner:` section into the folder `run`.

    Args:
        device: cpu, cuda or auto.
        resume: goes on where the folder stands. overwrite: begins anew in a folder that exists.
        progress: called after every iteration with its number, how many there will be, and the metrics by name. When it
            returns ``False`` (and not ``None``), training saves and stops. What it raises is raised here, after
            training has saved and stopped; so is KeyboardInterrupt.
    """
    scenario = as_scenario(scenario, overrides)
    raised: list[BaseException] = []

    # cffi gives to `onerror` what is raised anywhere in the callback, KeyboardInterrupt included, and returns `error`
    @ffi.callback("int(void *, uint64_t, uint64_t, int, const char *const *, const double *)", error=1,
                  onerror=lambda kind, error, trace: raised.append(error))
    def after_iteration(_context, iteration, n_iterations, n_columns, columns, row):
        if progress is None:
            return 0
        metrics = {ffi.string(columns[i]).decode(): row[i] for i in range(n_columns)}
        return progress(iteration, n_iterations, metrics) is False

    kept = [ffi.new("char[]", os.fspath(run).encode()), ffi.new("char[]", device.encode())]
    options = ffi.new("ludus_train_options *", {"run": kept[0], "device": kept[1], "resume": resume,
                                                "overwrite": overwrite, "after_iteration": after_iteration})
    error = ffi.new("ludus_error *")
    try:
        status = lib.ludus_train(scenario.handle, options, error)
    except KeyboardInterrupt as interrupt:
        raised.append(interrupt)
        status = lib.LUDUS_INTERRUPTED
    if raised:
        raise raised[0]
    if status not in (lib.LUDUS_OK, lib.LUDUS_INTERRUPTED):
        fail(status, error)
    return Run(run)


def record(scenario: str | os.PathLike | Scenario, path: str | os.PathLike, *, run: str | os.PathLike | None = None,
           episodes: int = 1, seed: int = 0, caption: str | None = None) -> None:
    """Records episodes: as video (.mp4, .webm), pictures (.gif, .png), or as a data set in Minari's layout (.h5).
    `caption` stands below the pictures: None what the scenario is about, "" nothing."""
    scenario = as_scenario(scenario)
    who = ffi.NULL if run is None else os.fspath(run).encode()
    to = os.fspath(path).encode()
    if to.endswith(b".h5"):
        long_call(lib.ludus_record_data, scenario.handle, who, to, episodes)
    else:
        long_call(lib.ludus_record_video, scenario.handle, who, to, episodes, seed,
                  ffi.NULL if caption is None else caption.encode())
