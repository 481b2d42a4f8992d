"""Many worlds as a Gymnasium vector environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector import VectorEnv as Base
from gymnasium.vector.utils import batch_space

from . import spaces
from ._library import Error
from .batch import Batch, bytes_of
from .env import FRAMES_PER_SECOND, MODES, check_mode
from .scenario import Renderer, Scenario, as_scenario

END_OF = {AutoresetMode.NEXT_STEP: "resets_next", AutoresetMode.SAME_STEP: "resets", AutoresetMode.DISABLED: "stays"}


class VectorEnv(Base):
    """`num_envs` worlds, stepped by one call of the library with all cores.

    Args:
        path: a scenario file, the folder of a RUN, or a `Scenario`.
        num_envs: number of worlds; the scenario's where none is given.
        seed: of the first episodes; without one, and without one in `reset`, it is drawn.
        overrides: values for keys of the file.
        autoreset_mode: Gymnasium's: ``NEXT_STEP``, ``SAME_STEP`` or ``DISABLED``.
        agents_as_rows: in worlds of several agents. ``False``: a row is a world, actions are those of the whole team
            (MultiDiscrete[n_agents] or Box[n_agents][...]), the reward is the sum of the agents', and
            ``info["rewards"]`` has each one's. ``True``: a row is an agent, row ``e * n_agents + i`` is agent i of
            world e, each with its own observation, action and reward; then `num_envs` of this object is the number
            of rows. Agents need the same actions for that.
        copy: ``False`` returns the arrays that the next step writes, without moving a byte; ``True`` copies of them.
        measures: with ``SAME_STEP``, tell what ended episodes are judged by, in ``info["final_info"]["measures"]``.
        threads: 0: all cores.
        render_mode: ``None`` or ``"rgb_array"``; `render` then returns a picture of each world.

    `reset` takes a seed for all, whose draws differ by the number of the world, or a list of one for each world. With
    ``DISABLED``, ``options={"reset_mask": bool[num_envs]}`` resets some. With ``SAME_STEP``, ``info["final_obs"]``
    has the last observation of rows where ``info["_final_obs"]`` is true. Where observations are dicts that is an array of
    dicts, as Gymnasium has it, and with ``copy=False`` a dict of arrays.
    """

    def __init__(self, path: str | os.PathLike | Scenario, num_envs: int | None = None, *, seed: int | None = None,
                 overrides: Mapping[str, Any] | None = None,
                 autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP, agents_as_rows: bool = False,
                 copy: bool = True, measures: bool = False, threads: int = 0, render_mode: str | None = None, width: int = 320,
                 theme: str = "light"):
        check_mode(render_mode)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.scenario = s = as_scenario(path, overrides)
        self.metadata = {"render_modes": list(MODES), "render_fps": FRAMES_PER_SECOND,
                         "autoreset_mode": self.autoreset_mode}
        self.render_mode, self._picture, self._renderer = render_mode, (width, theme), None
        final = self.autoreset_mode is AutoresetMode.SAME_STEP
        self.batch = Batch(s, num_envs, threads=threads, end=END_OF[self.autoreset_mode], final=final)
        self.copy, self.measures, self.agents_as_rows = copy, measures, agents_as_rows
        self._rows = s.n_agents if agents_as_rows else 1  # of a world
        self.num_worlds = self.batch.n
        self.num_envs = self.num_worlds * self._rows
        self.single_observation_space = spaces.of_observation(s, single_agent=agents_as_rows or s.n_agents == 1)
        self.single_action_space = spaces.of_each(s) if agents_as_rows else spaces.of_team(s)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._seed, self._begun = seed, False
        self._views = self._shaped(self.batch.observations)
        self._final_views = self._shaped(self.batch.final_observations) if final else None
        self._waits = np.zeros(self.num_worlds, np.bool_)  # with DISABLED: over and not reset
        self._next_step = self.autoreset_mode is AutoresetMode.NEXT_STEP
        # actions of one type that may be read where they lie
        plain = s.max_actions > 0 and s.max_continuous == 0
        self._choices_dtype = self.batch.choices.dtype if plain else None
        self._choices_shape = (self.num_envs,) if self._rows == s.n_agents else self.batch.choices.shape
        # what a step returns where nothing is copied
        in_place = not copy and (self._rows == 1 or all(p.per_agent for p in s.parts))
        self._in_place = self._read(self._views) if in_place else None
        self._final_in_place = self._read(self._final_views) if in_place and final else None
        self._plain = s.n_agents == 1 and not copy
        self._reward = self.batch.rewards.reshape(-1) if s.n_agents == self._rows else None

    # ---- arrays of worlds as arrays of rows ----

    def _shaped(self, arrays):
        """Views of [worlds][agents][...] as [rows][...]; parts of whole worlds are repeated when they are read."""
        if self.agents_as_rows or self.scenario.n_agents == 1:
            return {p.name: arrays[p.name].reshape(self.num_envs, *p.shape) if p.per_agent else arrays[p.name]
                    for p in self.scenario.parts}
        return dict(arrays)

    def _read(self, views):
        shared = self._rows > 1
        taken = {p.name: np.repeat(views[p.name], self._rows, 0) if shared and not p.per_agent else
                 views[p.name].copy() if self.copy else views[p.name] for p in self.scenario.parts}
        return next(iter(taken.values())) if len(taken) == 1 else taken

    def _per_row(self, flags):
        return np.repeat(flags, self._rows) if self._rows > 1 else flags.copy() if self.copy else flags

    def _of_worlds(self, mask):
        """A mask of rows, which has to agree for all agents of a world, as one of worlds."""
        mask = bytes_of(mask, self.num_envs, "reset_mask").reshape(self.num_worlds, self._rows)
        if (mask != mask[:, :1]).any():
            raise Error("reset_mask: agents of one world are reset together")
        return np.ascontiguousarray(mask[:, 0])

    # ---- Gymnasium ----

    def reset(self, *, seed=None, options: dict | None = None):
        """New episodes; with a seed (or a list of one for each world) the first ones of that seed."""
        chosen = None
        if options and options.get("reset_mask") is not None:
            chosen = self._of_worlds(options["reset_mask"])
            if not chosen.any():
                raise Error("reset_mask: expected a world to reset")
        if seed is None and self._seed is not None:
            seed, self._seed = self._seed, None
        if seed is None and not self._begun:
            seed = int(self.np_random.integers(1 << 63))
        if seed is not None:
            if isinstance(seed, (int, np.integer)):
                self._np_random_seed, self._np_random = int(seed), np.random.default_rng(int(seed))
                self.batch.seed(int(seed), None, chosen)
            else:
                drawn = [int(self.np_random.integers(1 << 63)) if one is None else int(one) for one in seed]
                self.batch.seed(0, drawn, chosen)
        self._begun = True
        self.batch.reset(chosen)
        self._waits[slice(None) if chosen is None else chosen] = False
        return self._read(self._views), {}

    def _put(self, actions):
        if isinstance(actions, dict):
            choice, numbers = actions["choice"], actions["numbers"]
        else:
            choice = numbers = actions
        b, s, given = self.batch, self.scenario, [None, None]
        if s.max_actions:
            given[0] = choice if isinstance(choice, np.ndarray) else np.asarray(choice)
            if given[0].shape != b.choices.shape:
                given[0] = given[0].reshape(b.choices.shape)
        if s.max_continuous:
            given[1] = np.asarray(numbers, np.float32).reshape(b.numbers.shape)
        return given

    def step(self, actions):
        """One step of all worlds: observations, rewards [num_envs], terminated and truncated bool[num_envs], info."""
        b = self.batch
        if self.autoreset_mode is AutoresetMode.DISABLED and self._waits.any():
            raise Error(f"world {int(self._waits.argmax())} is over and has not been reset")
        if (actions.__class__ is not np.ndarray or actions.dtype is not self._choices_dtype or
                actions.shape != self._choices_shape or not b._step_in_place(actions)):
            b.step(*self._put(actions))
        terminated, truncated = b.terminated, b.truncated
        info: dict[str, Any] = {}
        if not self._next_step and b._n_ended[0]:
            if self.autoreset_mode is AutoresetMode.DISABLED:
                self._waits |= b.ended
            else:
                self._tell_ends(info, b.ended.copy() if self.copy else b.ended)
        if self._plain:
            return self._in_place, self._reward, terminated, truncated, info
        if self._reward is not None:
            reward = self._reward.copy() if self.copy else self._reward
        else:
            reward = b.team_rewards.copy() if self.copy else b.team_rewards
            info["rewards"] = b.rewards.copy() if self.copy else b.rewards
        observations = self._read(self._views) if self._in_place is None else self._in_place
        return observations, reward, self._per_row(terminated), self._per_row(truncated), info

    def _tell_ends(self, info, over):
        rows = np.repeat(over, self._rows) if self._rows > 1 else over
        last = self._read(self._final_views) if self._final_in_place is None else self._final_in_place
        if isinstance(last, dict) and self.copy:
            each = np.full(self.num_envs, None, object)
            for row in np.flatnonzero(rows):
                each[row] = {name: array[row] for name, array in last.items()}
            last = each
        info["final_obs"], info["_final_obs"] = last, rows
        info["final_info"], info["_final_info"] = {}, rows
        if self.measures:
            found = self.scenario.measure(self.batch.final_states[over])
            told = {name: np.zeros(self.num_worlds) for name in found}
            for name, values in found.items():
                told[name][over] = values
            info["final_info"] = {"measures": {name: np.repeat(values, self._rows) for name, values in told.items()},
                                  "_measures": rows}

    def action_masks(self) -> np.ndarray:
        """bool[num_envs][n_actions], or [num_envs][n_agents][n_actions]: which choices are there now."""
        masks = self.batch.masks()
        return masks.reshape(self.num_envs, -1) if self.num_envs == masks.shape[0] * masks.shape[1] else masks

    def render(self):
        """A picture of each world, uint8[height][width][3]."""
        if not self.render_mode:
            return None
        if self._renderer is None:
            self._renderer = Renderer(self.scenario, self._picture[0], 0, self._picture[1])
        return tuple(self._renderer.draw(state) for state in self.batch.states)
