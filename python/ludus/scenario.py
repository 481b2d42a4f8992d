"""Scenarios: what a file describes, and its states one by one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ._library import DTYPES, KINDS, ROLES, Error, call, check, ffi, lib, owned, pointer, taken_text, text


@dataclass(frozen=True)
class Agent:
    """What an agent is and may do: one of `n_actions` choices, and `n_continuous` numbers in `low`..`high`."""

    index: int
    name: str
    n_actions: int
    n_continuous: int
    low: float
    high: float
    action_names: tuple[str, ...] | None
    idle: int | None
    role: str | None
    team: int | None
    team_name: str | None
    n_goals: int


@dataclass(frozen=True)
class Part:
    """One named array of an observation: `shape` of one agent, or of a world where `per_agent` is false."""

    index: int
    name: str
    kind: str
    dtype: np.dtype
    per_agent: bool
    shape: tuple[int, ...]
    world_shape: tuple[int, ...] = field(repr=False)  # [n_agents] before it where it is per agent


def scenario_path(name: str) -> Path:
    """The path of a scenario that ships, e.g. ``"multigrid/rescue"``."""
    here = Path(__file__).resolve().parent
    for folder in (here / "scenarios", here.parent.parent / "scenarios"):
        for file in (folder / name, folder / f"{name}.yaml"):
            if file.is_file():
                return file
    raise Error(f"no scenario {name!r} ships with Ludus")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value, value)) + "]"
    return str(value)


class Scenario:
    """A scenario, loaded and checked. It is constant: any number of batches and threads may share it.

    Args:
        path: a scenario file, or the folder of a RUN for the scenario that was run.
        overrides: values for keys of the file, e.g. ``{"multigrid.max_steps": 50}``.
        text: the file's content, where there is no file; `path` is its name in messages then.

    Raises:
        Error: with `file` and `line` where the file is to blame.
    """

    def __init__(self, path: str | os.PathLike, overrides: Mapping[str, Any] | None = None, *,
                 text: str | None = None):
        settings = [f"{key}={_value(value)}".encode() for key, value in (overrides or {}).items()]
        kept = [ffi.new("char[]", setting) for setting in settings]
        array = ffi.new("const char *[]", kept) if kept else ffi.NULL
        out = ffi.new("ludus_scenario **")
        self.path = os.fspath(path)
        if text is None:
            call(lib.ludus_scenario_load, self.path.encode(), array, len(kept), out)
        else:
            content = text.encode()
            call(lib.ludus_scenario_read, self.path.encode(), content, len(content), array, len(kept), out)
        self.handle = owned(out[0], lib.ludus_scenario_free)
        self._read()

    def _read(self):
        info = ffi.new("ludus_scenario_info *")
        check(lib.ludus_scenario_get_info(self.handle, info), "a scenario")
        self.name, self.about, self.world = text(info.name), text(info.about), text(info.world)
        self.state_bytes: int = info.state_bytes
        self.n_agents: int = info.n_agents
        self.n_teams: int = info.n_teams
        self.max_steps: int | None = info.max_steps or None
        self.max_actions: int = info.max_actions
        self.max_continuous: int = info.max_continuous
        self.n_joint_actions: int | None = info.n_joint_actions or None
        self.has_model: bool = info.has_model
        self.seed: int = info.seed
        self.n_environments: int = info.n_environments
        self.agents = tuple(self._agent(i) for i in range(info.n_agents))
        self.parts = tuple(self._part(i) for i in range(info.n_parts))
        about = ffi.new("const char **")
        self.measures: dict[str, str] = {
            text(lib.ludus_measure_name(self.handle, i, about)): text(about[0]) or "" for i in range(info.n_measures)}
        self.components = tuple(text(lib.ludus_component_name(self.handle, i)) for i in range(info.n_components))

    def _agent(self, index):
        info = ffi.new("ludus_agent_info *")
        check(lib.ludus_scenario_get_agent(self.handle, index, info), "an agent")
        names = None if info.action_names == ffi.NULL else \
            tuple(text(info.action_names[i]) for i in range(info.n_actions))
        return Agent(index, f"agent_{index}", info.n_actions, info.n_continuous, info.low, info.high, names,
                     info.idle if info.idle >= 0 else None, ROLES[info.role], info.team if info.team >= 0 else None,
                     text(info.team_name), info.n_goals)

    def _part(self, index):
        info = ffi.new("ludus_part_info *")
        check(lib.ludus_scenario_get_part(self.handle, index, info), "a part")
        shape = tuple(info.dimensions[i] for i in range(info.n_dimensions))
        return Part(index, text(info.name), KINDS[info.kind], DTYPES[info.dtype], info.per_agent, shape,
                    (self.n_agents, *shape) if info.per_agent else shape)

    def __repr__(self):
        return f"Scenario({self.path!r}: {self.world}, {self.n_agents} agents)"

    def __reduce__(self):
        return _read_back, (self.path, self.text())

    def text(self) -> str:
        """The whole scenario with all defaults, as YAML that reads back the same."""
        out = ffi.new("char **")
        call(lib.ludus_scenario_text, self.handle, out)
        return taken_text(out[0])

    # ---- states, each uint8[state_bytes] ----

    def state(self, state) -> np.ndarray:
        """Bytes as a state: uint8[state_bytes], contiguous."""
        array = np.ascontiguousarray(np.frombuffer(state, np.uint8) if isinstance(state, bytes) else state)
        if array.dtype != np.uint8 or array.shape != (self.state_bytes,):
            raise Error(f"a state: expected uint8[{self.state_bytes}], found {array.dtype.name}{list(array.shape)}")
        return array

    def initial_state(self, seed: int | None = None, environment: int = 0) -> np.ndarray:
        """The first state of an environment: uint8[state_bytes]. `seed`: the file's where none is given."""
        state = np.empty(self.state_bytes, np.uint8)
        call(lib.ludus_state_initial, self.handle, self.seed if seed is None else seed, environment,
             pointer(state, "uint8_t *"))
        return state

    def check_state(self, state) -> None:
        """Raises `Error` unless the bytes are a state of this scenario."""
        call(lib.ludus_state_check, self.handle, pointer(self.state(state), "uint8_t *"))

    def hash(self, state) -> int:
        """A 64-bit hash (XXH3) of a state."""
        return lib.ludus_state_hash(self.handle, pointer(self.state(state), "uint8_t *"))

    def describe(self, state, agent: int | None = None) -> str:
        """A state in words; with `agent`, what that agent alone is told."""
        out = ffi.new("char **")
        state = self.state(state)
        call(lib.ludus_state_describe, self.handle, pointer(state, "uint8_t *"), -1 if agent is None else agent, out)
        return taken_text(out[0])

    def successors(self, state, joint_action) -> tuple[np.ndarray, np.ndarray]:
        """Every state that may follow, once each: states uint8[n][state_bytes], probabilities float64[n].

        `joint_action` is one choice per agent. Terminal states, and no others, have no successors.
        """
        state = self.state(state)
        actions = np.ascontiguousarray(joint_action, np.int32)
        if actions.shape != (self.n_agents,):
            raise Error(f"a joint action: expected {self.n_agents} choices, found shape {list(actions.shape)}")
        n = ffi.new("size_t *")
        at = pointer(state, "uint8_t *"), pointer(actions, "int32_t *")
        call(lib.ludus_state_successors, self.handle, *at, 0, ffi.NULL, ffi.NULL, n)
        states, probabilities = np.empty((n[0], self.state_bytes), np.uint8), np.empty(n[0])
        if n[0]:
            call(lib.ludus_state_successors, self.handle, *at, n[0], pointer(states, "uint8_t *"),
                 pointer(probabilities, "double *"), n)
        return states, probabilities

    def achieves(self, state, agent: int, goal: int) -> bool:
        """Whether a goal of an agent is achieved in a state."""
        out = ffi.new("bool *")
        state = self.state(state)
        call(lib.ludus_state_achieves, self.handle, pointer(state, "uint8_t *"), agent, goal, out)
        return out[0]

    def measure(self, state) -> dict[str, Any]:
        """What an episode that is at this state is judged by, by name; of many states [n][state_bytes] float64[n] each."""
        many = isinstance(state, np.ndarray) and state.ndim == 2
        states = np.ascontiguousarray(state) if many else self.state(state)[None]
        if many and (states.dtype != np.uint8 or states.shape[1] != self.state_bytes):
            raise Error(f"states: expected uint8[n][{self.state_bytes}], found {states.dtype.name}{list(states.shape)}")
        values = np.zeros((len(states), len(self.measures)))
        call(lib.ludus_state_measure, self.handle, len(states), pointer(states, "uint8_t *"), pointer(values, "double *"))
        return dict(zip(self.measures, values.T if many else values[0].tolist()))

    def render(self, state, before=None, *, width: int = 640, height: int = 0, theme: str = "light") -> np.ndarray:
        """A picture of a state: uint8[height][width][3]. `before`: the state one step earlier."""
        return Renderer(self, width, height, theme).draw(state, before)


def _read_back(path, content):
    return Scenario(path, text=content)


class Renderer:
    """Draws states of a scenario, many with one canvas. Height 0: as the world's shape wants it."""

    def __init__(self, scenario: Scenario, width: int = 640, height: int = 0, theme: str = "light"):
        self.scenario = scenario
        out = ffi.new("ludus_renderer **")
        call(lib.ludus_renderer_create, scenario.handle, width, height, theme.encode(), out)
        self.handle = owned(out[0], lib.ludus_renderer_free, scenario.handle)
        size = ffi.new("int[2]")
        lib.ludus_renderer_size(self.handle, size, size + 1)
        self.width, self.height = size[0], size[1]

    def draw(self, state, before=None) -> np.ndarray:
        """A picture of a state: uint8[height][width][3]."""
        rgba = np.empty((self.height, self.width, 4), np.uint8)
        state = self.scenario.state(state)
        before = None if before is None else self.scenario.state(before)
        call(lib.ludus_render, self.handle, pointer(state, "uint8_t *"), pointer(before, "uint8_t *"),
             pointer(rgba, "uint8_t *"))
        return np.ascontiguousarray(rgba[:, :, :3])


def as_scenario(scenario, overrides=None) -> Scenario:
    """The scenario itself, or that of a path."""
    if not isinstance(scenario, Scenario):
        return Scenario(scenario, overrides)
    if overrides:
        raise Error("overrides belong to a path, not to a scenario that is loaded")
    return scenario
