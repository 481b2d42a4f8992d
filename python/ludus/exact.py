"""State spaces and exact solutions of worlds that have a finite model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ._library import Error, call, check, ffi, lib, long_call, owned, pointer, view
from .scenario import Scenario, as_scenario


class StateSpace:
    """Every state that can be reached, with all successors.

    Args:
        path: a scenario file or a `Scenario`.
        memory_limit: in bytes; three quarters of what is free where none is given.
        threads: 0: all cores.

    Attributes:
        n_states, n_transitions, n_terminal, n_joint_actions: their numbers.
        states: uint8[n_states][state_bytes], read-only, in the library's memory; state 0 is the start.
        layers: uint64[n_layers + 1], the first state of each distance from the start.
    """

    def __init__(self, path: str | os.PathLike | Scenario, *, overrides: Mapping[str, Any] | None = None,
                 memory_limit: int | None = None, threads: int = 0):
        self.scenario = as_scenario(path, overrides)
        out = ffi.new("ludus_statespace **")
        long_call(lib.ludus_statespace_build, self.scenario.handle, memory_limit or 0, threads, out)
        self.handle = owned(out[0], lib.ludus_statespace_free, self.scenario.handle)
        info = ffi.new("ludus_statespace_info *")
        check(lib.ludus_statespace_get_info(self.handle, info), "a state space")
        self.n_states: int = info.n_states
        self.n_transitions: int = info.n_transitions
        self.n_terminal: int = info.n_terminal
        self.n_joint_actions: int = info.n_joint_actions
        self.states = view(self.handle, info.states, (self.n_states, self.scenario.state_bytes), np.uint8)
        self.layers = view(self.handle, info.layer_begin, (info.n_layers + 1,), np.uint64)

    def __len__(self):
        return self.n_states

    def __repr__(self):
        return f"StateSpace({self.scenario.name}: {self.n_states} states, {self.n_transitions} transitions)"

    def joint_action(self, actions) -> int:
        """The number of a joint action [n_agents]; agent 0 is its fastest digit."""
        number, base = 0, 1
        for action, agent in zip(actions, self.scenario.agents, strict=True):
            if not 0 <= action < agent.n_actions:
                raise Error(f"{agent.name}: expected a choice from 0 to {agent.n_actions - 1}, found {action}")
            number, base = number + base * int(action), base * agent.n_actions
        return number

    def actions(self, joint_action: int) -> tuple[int, ...]:
        """The choices [n_agents] of a joint action's number."""
        out = []
        for agent in self.scenario.agents:
            joint_action, digit = divmod(joint_action, agent.n_actions)
            out.append(digit)
        return tuple(out)

    def rows(self, joint_action: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compressed rows of one joint action: offsets int64[n_states + 1], successors uint32[n], probabilities
        float64[n]. Rows of terminal states are empty."""
        offsets = np.empty(self.n_states + 1, np.int64)
        at = pointer(offsets, "int64_t *")
        call(lib.ludus_statespace_matrix, self.handle, joint_action, at, ffi.NULL, ffi.NULL)
        successors, probabilities = np.empty(offsets[-1], np.uint32), np.empty(offsets[-1])
        call(lib.ludus_statespace_matrix, self.handle, joint_action, at, pointer(successors, "uint32_t *"),
             pointer(probabilities, "double *"))
        return offsets, successors, probabilities

    def matrix(self, joint_action: int):
        """The transition matrix of one joint action: scipy.sparse.csr_array[n_states][n_states]."""
        from scipy.sparse import csr_array
        offsets, successors, probabilities = self.rows(joint_action)
        small = self.n_states < 1 << 31 and offsets[-1] < 1 << 31
        kind = np.int32 if small else np.int64
        successors = successors.view(np.int32) if small else successors.astype(kind)
        return csr_array((probabilities, successors, offsets.astype(kind)), (self.n_states, self.n_states))

    def find(self, state) -> int | None:
        """The number of a state; ``None`` where it cannot be reached."""
        state = self.scenario.state(state)
        number = lib.ludus_statespace_find(self.handle, pointer(state, "uint8_t *"))
        return None if number == (1 << 64) - 1 else number


class Solution:
    """The exact solution of a world (EMPO), of a folder that `solve` or ``ludus solve`` has written.

    All arrays are read-only views of the file; n is the number of states.

    Attributes:
        v_r, u_r: float64[n], V_r and U_r.
        x_h: float64[n][n_humans], each person's power.
        v_h_e, v_h_m: float64[n][n_goals], over the goals of all people together.
        q_r, pi_r: float64[n][n_robot_actions]; the last robot's action is the fastest digit.
        pi_h: for each person, in the order of `people`: float64[n][goals][actions].
        people: indices of the agents that are people.
        states: uint8[n][state_bytes], in the order of the state space.
    """

    def __init__(self, run: str | os.PathLike, scenario: str | os.PathLike | Scenario | None = None, *, _handle=None):
        self.run = os.fspath(run)
        self.scenario = as_scenario(self.run if scenario is None else scenario)
        if _handle is None:
            out = ffi.new("ludus_solution **")
            call(lib.ludus_solution_open, self.scenario.handle, self.run.encode(), out)
            _handle = out[0]
        self.handle = owned(_handle, lib.ludus_solution_free, self.scenario.handle)
        i = ffi.new("ludus_solution_info *")
        check(lib.ludus_solution_get_info(self.handle, i), "a solution")
        self.n_states: int = i.n_states
        n = self.n_states
        self.states = view(self.handle, i.states, (n, self.scenario.state_bytes), np.uint8)

        def numbers(offset, *shape):
            inner = np.cumprod((1, *shape[::-1]))[:-1][::-1] * 8
            return view(self.handle, i.records + offset, (n, *shape), np.float64, (i.stride * 8, *map(int, inner)))

        self.v_r, self.u_r = numbers(i.v_r), numbers(i.u_r)
        self.x_h = numbers(i.x_h, i.n_humans)
        self.v_h_e, self.v_h_m = numbers(i.v_h_e, i.n_goals), numbers(i.v_h_m, i.n_goals)
        self.q_r, self.pi_r = numbers(i.q_r, i.n_robot_actions), numbers(i.pi_r, i.n_robot_actions)
        self.people = tuple(a.index for a in self.scenario.agents if a.role == "human")
        self.pi_h, at = [], i.policies
        for person in self.people:
            who = self.scenario.agents[person]
            self.pi_h.append(numbers(at, who.n_goals, who.n_actions))
            at += who.n_goals * who.n_actions
        if at != i.policies + i.n_policies:
            raise Error(f"{self.run}: policies of people have {i.n_policies} numbers, expected {at - i.policies}")

    def __repr__(self):
        return f"Solution({self.run!r}: {self.n_states} states)"


def solve(scenario: str | os.PathLike | Scenario, run: str | os.PathLike, *,
          overrides: Mapping[str, Any] | None = None, memory_limit: int | None = None, threads: int = 0) -> Solution:
    """Solves both phases of EMPO exactly into the folder `run`, which `ludus view` and all others open."""
    scenario = as_scenario(scenario, overrides)
    out = ffi.new("ludus_solution **")
    long_call(lib.ludus_solve, scenario.handle, os.fspath(run).encode(), memory_limit or 0, threads, out)
    return Solution(run, scenario, _handle=out[0])
