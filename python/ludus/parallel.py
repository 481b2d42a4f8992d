"""One world as a PettingZoo environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
from pettingzoo import ParallelEnv as Base
from pettingzoo.utils import parallel_to_aec

from . import spaces
from .env import FRAMES_PER_SECOND, MODES, World
from .scenario import Scenario


class ParallelEnv(Base):
    """A world as a PettingZoo environment: all agents act at once, and their episode ends for all of them at once.

    Args:
        path: a scenario file, the folder of a RUN, or a `Scenario`.
        seed: of the first episodes; without one, and without one in `reset`, it is drawn.
        overrides: values for keys of the file.
        max_cycles: steps after which episodes are truncated, where that is sooner than the scenario says.
        render_mode: ``None`` or ``"rgb_array"``.

    Agents are called ``agent_0`` and so on; `roles` and `teams` of `scenario.agents` say more about them.
    """

    def __init__(self, path: str | os.PathLike | Scenario, *, seed: int | None = None,
                 overrides: Mapping[str, Any] | None = None, max_cycles: int | None = None,
                 render_mode: str | None = None, width: int = 640, theme: str = "light"):
        self._world = World(path, overrides, render_mode, width, theme)
        self.scenario, self.batch, self.render_mode = self._world.scenario, self._world.batch, render_mode
        self.metadata = {"name": f"ludus_{self.scenario.name}", "render_modes": list(MODES),
                         "render_fps": FRAMES_PER_SECOND, "is_parallelizable": True}
        self.max_cycles = max_cycles
        self.possible_agents = [a.name for a in self.scenario.agents]
        self.agents: list[str] = []
        self._index = {name: i for i, name in enumerate(self.possible_agents)}
        self._parts = self.scenario.parts
        self.observation_spaces = {name: spaces.of_observation(self.scenario, True) for name in self.possible_agents}
        self.action_spaces = {a.name: spaces.of_agent(a) for a in self.scenario.agents}
        self.state_space = gymnasium.spaces.Box(0, 255, (self.scenario.state_bytes,), np.uint8)
        self._seed, self._begun = seed, False

    def observation_space(self, agent):
        return self.observation_spaces[agent]

    def action_space(self, agent):
        return self.action_spaces[agent]

    def _observations(self):
        arrays = [self.batch.observations[p.name][0] for p in self._parts]
        rows = [a.copy() if p.per_agent else [a.copy() for _ in self.possible_agents]
                for p, a in zip(self._parts, arrays)]
        if len(rows) == 1:
            return dict(zip(self.possible_agents, rows[0]))
        return {name: {p.name: row[i] for p, row in zip(self._parts, rows)}
                for i, name in enumerate(self.possible_agents)}

    def reset(self, seed: int | None = None, options: dict | None = None):
        """A new episode; with a seed, the first one of that seed."""
        if seed is None and self._seed is not None:
            seed = self._seed
        elif seed is None and not self._begun:
            seed = int(np.random.default_rng().integers(1 << 63))
        self._seed, self._begun = None, True
        self._world.start(seed)
        self.agents = self.possible_agents[:]
        return self._observations(), {name: {} for name in self.agents}

    def step(self, actions: Mapping[str, Any]):
        """One step of all agents: dicts of observations, rewards, terminations, truncations and infos."""
        if not self.agents:
            return {}, {}, {}, {}, {}
        choices, numbers = self.batch.choices[0], self.batch.numbers[0]
        for name in self.agents:
            action, i = actions[name], self._index[name]
            who = self.scenario.agents[i]
            if isinstance(action, dict):
                choices[i], action = action["choice"], action["numbers"]
            elif who.n_actions:
                choices[i] = action
            if who.n_continuous:
                numbers[i, :who.n_continuous] = action
        self._world.remember()
        _, rewards, terminated, truncated = self.batch.step()
        names = self.possible_agents
        over, cut = bool(terminated[0]), bool(truncated[0])
        if self.max_cycles is not None and not over and self.batch.steps[0] >= self.max_cycles:
            cut = True
        infos = {name: {} for name in names}
        if over or cut:
            measures = self.scenario.measure(self.batch.states[0])
            infos = {name: {"measures": measures} for name in names}
            self.agents = []
        return (self._observations(), dict(zip(names, rewards[0].tolist())), dict.fromkeys(names, over),
                dict.fromkeys(names, cut), infos)

    def state(self) -> np.ndarray:
        """The world's state: uint8[state_bytes]."""
        return self.batch.states[0].copy()

    def action_masks(self) -> dict[str, np.ndarray]:
        """bool[n_actions] of each agent: which choices are there now."""
        masks = self.batch.masks()[0]
        return {a.name: masks[a.index, :a.n_actions] for a in self.scenario.agents}

    def render(self):
        """The present state, uint8[height][width][3], or ``None`` without a render mode."""
        return self._world.draw() if self.render_mode else None

    def close(self):
        pass


def module(path: str | os.PathLike, **options):
    """What PettingZoo calls the module of an environment: `parallel_env(**options)` and `env(**options)`."""
    def parallel_env(**more):
        return ParallelEnv(path, **{**options, **more})

    return SimpleNamespace(parallel_env=parallel_env, env=lambda **more: parallel_to_aec(parallel_env(**more)))
