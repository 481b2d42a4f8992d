"""Many environments at once, stepped into arrays that are made once and written in place."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._library import Error, call, fail, ffi, lib, owned, pointer, view, writable
from .scenario import Scenario, as_scenario

ENDS = {"resets": lib.LUDUS_END_RESETS, "resets_next": lib.LUDUS_END_RESETS_NEXT, "stays": lib.LUDUS_END_STAYS}


def bytes_of(array, n, what):
    """An array of n truths as bytes."""
    array = np.ascontiguousarray(array, np.bool_)
    if array.shape != (n,):
        raise Error(f"{what}: expected {n} truths, found shape {list(array.shape)}")
    return array


class Batch:
    """`n` environments of a scenario. Every array below is written in place by `reset` and `step`.

    Args:
        scenario: a path or a `Scenario`.
        n: number of environments; the scenario's where none is given.
        seed: of all environments, whose draws differ by their number; the scenario's where none is given.
        seeds: [n], one each instead: environment e then does what environment 0 does with that seed.
        threads: 0: all cores.
        end: what becomes of an environment whose episode is over: ``"resets"`` starts it anew within the step,
            ``"resets_next"`` with the next step, ``"stays"`` not before `reset` is called.
        final: also keep last observations and states of ended episodes (with ``end="resets"``).
        components: also keep the parts that rewards are the sum of.

    Attributes:
        observations: a dict of arrays, part name -> [n][n_agents][...] or [n][...].
        rewards: float32[n][n_agents]; team_rewards: float32[n], their sums.
        terminated, truncated: bool[n]; ended: bool[n], either of the two.
        choices: int32[n][n_agents], what `step` takes unless it is given others.
        numbers: float32[n][n_agents][max_continuous], the same.
        final_observations, final_states: rows of environments whose episode the last step ended.
        components: float32[n][n_agents][n_components].
        states: uint8[n][state_bytes], read-only, in the library's memory.
        steps: int32[n], steps since each episode began, the same.
    """

    def __init__(self, scenario: str | os.PathLike | Scenario, n: int | None = None, *, seed: int | None = None,
                 seeds: Sequence[int] | None = None, threads: int = 0, end: str = "resets",
                 overrides: Mapping[str, Any] | None = None, first_environment: int = 0, final: bool = False,
                 components: bool = False):
        if end not in ENDS:
            raise Error(f"end: expected one of {', '.join(ENDS)}, found {end!r}")
        self.scenario = s = as_scenario(scenario, overrides)
        self.n = n = s.n_environments if n is None else int(n)
        self.end = end
        own = None if seeds is None else np.ascontiguousarray(seeds, np.uint64)
        if own is not None and own.shape != (n,):
            raise Error(f"seeds: expected {n}, found shape {list(own.shape)}")
        options = ffi.new("ludus_batch_options *", {
            "n_environments": n, "n_threads": threads, "seed": s.seed if seed is None else int(seed),
            "first_environment": first_environment, "seeds": pointer(own, "uint64_t *"), "end": ENDS[end]})
        out = ffi.new("ludus_batch **")
        call(lib.ludus_batch_create, s.handle, options, out)
        self.handle = owned(out[0], lib.ludus_batch_free, s.handle)
        self.states = view(self.handle, lib.ludus_batch_states(self.handle), (n, s.state_bytes), np.uint8)
        self.steps = view(self.handle, lib.ludus_batch_steps(self.handle), (n,), np.int32)
        self.choices = np.zeros((n, s.n_agents), np.int32)
        self.numbers = np.zeros((n, s.n_agents, s.max_continuous), np.float32)
        self._error = ffi.new("ludus_error *")
        self._out = ffi.new("ludus_out *")
        self._own_actions = self._actions_of(self.choices, self.numbers)
        self._choices_type, self._numbers_type = ffi.typeof("int32_t[]"), ffi.typeof("float[]")
        self._given_actions = ffi.new("ludus_actions *")
        self.observations: dict[str, np.ndarray] = {}
        self._parts = ffi.new("void *[]", max(1, len(s.parts)))
        self._final_parts = ffi.new("void *[]", max(1, len(s.parts)))
        self.bind(observations={p.name: np.zeros((n, *p.world_shape), p.dtype) for p in s.parts},
                  rewards=np.zeros((n, s.n_agents), np.float32), terminated=np.zeros(n, np.bool_),
                  truncated=np.zeros(n, np.bool_))
        self.team_rewards = np.zeros(n, np.float32)
        self._out.team_rewards = pointer(self.team_rewards, "float *")
        self.ended, self._n_ended = np.zeros(n, np.bool_), ffi.new("int32_t[1]")
        self._out.ended, self._out.n_ended = pointer(self.ended, "uint8_t *"), self._n_ended
        self.final_observations: dict[str, np.ndarray] = {}
        self.final_states = self.components = None
        if final:
            self.final_observations = {name: np.zeros_like(a) for name, a in self.observations.items()}
            self.final_states = np.zeros((n, s.state_bytes), np.uint8)
            for i, array in enumerate(self.final_observations.values()):
                self._final_parts[i] = pointer(array, "void *")
            self._out.final_observations = self._final_parts
            self._out.final_states = pointer(self.final_states, "uint8_t *")
        if components:
            self.components = np.zeros((n, s.n_agents, len(s.components)), np.float32)
            self._out.components = pointer(self.components, "float *")

    def _actions_of(self, choices, numbers):
        actions = ffi.new("ludus_actions *")
        actions.discrete = pointer(choices, "int32_t *")
        actions.continuous = pointer(numbers, "float *") if self.scenario.max_continuous else ffi.NULL
        return actions

    def bind(self, observations: Mapping[str, Any] | None = None, rewards=None, terminated=None, truncated=None):
        """Lets `reset` and `step` write into arrays of the caller's: NumPy, or whatever has DLPack, as CPU tensors do.

        Shapes and types are those of the attributes; they must stay as long as the batch writes there. A part
        given as ``None`` is not computed any more.
        """
        s, n = self.scenario, self.n
        for name, array in (observations or {}).items():
            part = next((p for p in s.parts if p.name == name), None)
            if part is None:
                raise Error(f"no part {name!r}; expected one of {', '.join(p.name for p in s.parts)}")
            if array is None:
                self._parts[part.index] = ffi.NULL
                self.observations.pop(name, None)
                continue
            self.observations[name] = writable(array, (n, *part.world_shape), part.dtype, name)
            self._parts[part.index] = pointer(self.observations[name], "void *")
        self._out.observations = self._parts
        if rewards is not None:
            self.rewards = writable(rewards, (n, s.n_agents), np.float32, "rewards")
            self._out.rewards = pointer(self.rewards, "float *")
        if terminated is not None:
            self.terminated = writable(terminated, (n,), np.bool_, "terminated")
            self._out.terminated = pointer(self.terminated, "uint8_t *")
        if truncated is not None:
            self.truncated = writable(truncated, (n,), np.bool_, "truncated")
            self._out.truncated = pointer(self.truncated, "uint8_t *")

    @property
    def n_ended(self) -> int:
        """Episodes that the last step ended; `ended` says where."""
        return self._n_ended[0]

    def __len__(self):
        return self.n

    def seed(self, seed: int | None = None, seeds: Sequence[int] | None = None, chosen=None) -> None:
        """New seeds, as for a new batch; `reset` has to follow. `chosen` bool[n]: of these environments only, in a
        batch that was made with `seeds`."""
        own = None if seeds is None else np.ascontiguousarray(seeds, np.uint64)
        if own is not None and own.shape != (self.n,):
            raise Error(f"seeds: expected {self.n}, found shape {list(own.shape)}")
        mask = None if chosen is None else bytes_of(chosen, self.n, "chosen")
        call(lib.ludus_batch_seed, self.handle, pointer(mask, "uint8_t *"), self.scenario.seed if seed is None else seed,
             pointer(own, "uint64_t *"))

    def reset(self, chosen=None) -> dict[str, np.ndarray]:
        """New episodes everywhere, or where `chosen` bool[n] is true. Returns `observations`."""
        mask = None if chosen is None else bytes_of(chosen, self.n, "chosen")
        status = lib.ludus_batch_reset(self.handle, pointer(mask, "uint8_t *"), self._out, self._error)
        if status:
            fail(status, self._error)
        return self.observations

    def step(self, choices=None, numbers=None):
        """One step of every environment.

        `choices` [n][n_agents] and `numbers` [n][n_agents][max_continuous]: the attributes where none are given.
        Contiguous arrays of the right type are read in place, others are copied into the attributes.
        Returns `observations, rewards, terminated, truncated`.
        """
        actions = self._own_actions
        if choices is not None or numbers is not None:
            actions = self._given_actions
            actions.discrete = ffi.from_buffer(self._choices_type, self._in_place(choices, self.choices))
            if self.scenario.max_continuous:
                actions.continuous = ffi.from_buffer(self._numbers_type, self._in_place(numbers, self.numbers))
        self._step(actions)
        return self.observations, self.rewards, self.terminated, self.truncated

    def _step(self, actions):
        status = lib.ludus_batch_step(self.handle, actions, self._out, self._error)
        if status:
            fail(status, self._error)

    def _step_in_place(self, choices):
        """`step` for choices that are known to be as many int32 as the batch takes. False: they do not lie in order."""
        actions = self._given_actions
        try:
            actions.discrete = ffi.from_buffer(self._choices_type, choices)
        except ValueError:
            return False
        self._step(actions)
        return True

    def _in_place(self, given, own):
        if given is None or given is own:
            return own
        if not isinstance(given, np.ndarray):
            given = np.from_dlpack(given) if hasattr(given, "__dlpack__") else np.asarray(given)
        if given.shape != own.shape:
            raise Error(f"actions: expected shape {list(own.shape)}, found {list(given.shape)}")
        if given.dtype == own.dtype and given.flags.c_contiguous:
            return given
        if own.dtype.kind == "i" and given.dtype.kind not in "iub":
            raise Error(f"choices: expected whole numbers, found {given.dtype.name}")
        np.copyto(own, given, casting="unsafe")
        return own

    def observe(self) -> dict[str, np.ndarray]:
        """Writes the observations of the present states; returns `observations`."""
        call(lib.ludus_batch_observe, self.handle, self._parts)
        return self.observations

    def masks(self, out: np.ndarray | None = None) -> np.ndarray:
        """bool[n][n_agents][max_actions]: whether a choice is there in the present state."""
        if out is None:
            out = np.empty((self.n, self.scenario.n_agents, self.scenario.max_actions), np.bool_)
        call(lib.ludus_batch_masks, self.handle, pointer(out, "uint8_t *"))
        return out

    def set_states(self, states, first: int = 0) -> None:
        """Puts environments from `first` on to `states` uint8[m][state_bytes], which are checked."""
        states = np.ascontiguousarray(states, np.uint8)
        if states.ndim != 2 or states.shape[1] != self.scenario.state_bytes:
            raise Error(f"states: expected uint8[m][{self.scenario.state_bytes}], found shape {list(states.shape)}")
        call(lib.ludus_batch_set_states, self.handle, first, len(states), pointer(states, "uint8_t *"))

    def save(self) -> np.ndarray:
        """Everything that the batch's future depends on, as bytes."""
        snapshot = np.empty(lib.ludus_batch_snapshot_bytes(self.handle), np.uint8)
        call(lib.ludus_batch_save, self.handle, pointer(snapshot, "void *"))
        return snapshot

    def load(self, snapshot) -> None:
        """Goes on bit for bit from where `save` was called."""
        snapshot = np.ascontiguousarray(snapshot, np.uint8)
        expected = lib.ludus_batch_snapshot_bytes(self.handle)
        if snapshot.shape != (expected,):
            raise Error(f"a snapshot: expected {expected} bytes, found {snapshot.size}")
        call(lib.ludus_batch_load, self.handle, pointer(snapshot, "void *"))
