"""One world as a Gymnasium environment, and as a PettingZoo one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np

from . import spaces
from ._library import Error, fail, lib, pointer
from .batch import Batch
from .policy import Policy
from .scenario import Renderer, Scenario, as_scenario

MODES = ("rgb_array",)
FRAMES_PER_SECOND = 10


def check_mode(mode):
    if mode is not None and mode not in MODES:
        raise Error(f"render_mode: expected None or {' or '.join(MODES)}, found {mode!r}")


class World:
    """What both have of one world: a batch of one that stays when its episode is over, and its pictures."""

    def __init__(self, scenario, overrides, render_mode, width, theme):
        check_mode(render_mode)
        self.scenario: Scenario = as_scenario(scenario, overrides)
        self.batch = Batch(self.scenario, 1, threads=1, end="stays")
        self.render_mode = render_mode
        self._picture = (width, theme)
        self._renderer = None
        self.before = None

    def draw(self):
        if self._renderer is None:
            width, theme = self._picture
            self._renderer = Renderer(self.scenario, width, 0, theme)
        return self._renderer.draw(self.batch.states[0], self.before)

    def remember(self):
        if self.render_mode:
            self.before = self.batch.states[0].copy()

    def start(self, seed):
        if seed is not None:
            self.batch.seed(seed)
        self.before = None
        self.batch.reset()


class Env(gymnasium.Env):
    """A world as a Gymnasium environment of one agent.

    Args:
        path: a scenario file, the folder of a RUN, or a `Scenario`.
        seed: of the first episodes; without one, and without one in `reset`, it is drawn as Gymnasium does.
        overrides: values for keys of the file, e.g. ``{"multigrid.max_steps": 50}``.
        agent: the one that acts here, in worlds of several.
        others: folder of a RUN that acts for the others; ``None``: the policies that the scenario names.
        render_mode: ``None`` or ``"rgb_array"``; pictures are uint8[height][width][3].

    Observations are the agent's array where the world has one part, else a dict of arrays; they are copies. The
    reward is the agent's own. Where an episode is over `info` has ``measures``, what it is judged by; with
    components, ``components`` always.
    """

    def __init__(self, path: str | os.PathLike | Scenario, *, seed: int | None = None,
                 overrides: Mapping[str, Any] | None = None, agent: int = 0, others: str | os.PathLike | None = None,
                 render_mode: str | None = None, width: int = 640, theme: str = "light"):
        self.metadata = {"render_modes": list(MODES), "render_fps": FRAMES_PER_SECOND}
        self.world = World(path, overrides, render_mode, width, theme)
        self.scenario, self.batch, self.render_mode = self.world.scenario, self.world.batch, render_mode
        if not 0 <= agent < self.scenario.n_agents:
            raise Error(f"agent: expected 0 to {self.scenario.n_agents - 1}, found {agent}")
        self.agent = agent
        self.observation_space = spaces.of_observation(self.scenario, single_agent=True)
        self.action_space = spaces.of_agent(self.scenario.agents[agent])
        self._seed = seed
        self._others = Policy(self.batch, others) if self.scenario.n_agents > 1 else None
        self._views = {p.name: self.batch.observations[p.name][0, agent] if p.per_agent else
                       self.batch.observations[p.name][0] for p in self.scenario.parts}
        self._only = next(iter(self._views.values())) if len(self._views) == 1 else None
        who = self.scenario.agents[agent]
        self._discrete = who.n_actions > 0 and not who.n_continuous
        # what a step touches, as C sees it
        b = self.batch
        self._choice = pointer(b.choices, "int32_t *") + agent
        self._numbers = b.numbers[0, agent, :who.n_continuous]
        self._reward = pointer(b.rewards, "float *") + agent
        self._done = pointer(b.terminated, "uint8_t *"), pointer(b.truncated, "uint8_t *")
        self._call = b.handle, b._own_actions, b._out, b._error
        self._running = False

    def _observation(self):
        if self._only is not None:
            return self._only.copy()
        return {name: array.copy() for name, array in self._views.items()}

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        """A new episode; with a seed, the first one of that seed."""
        super().reset(seed=seed)
        if seed is None and self._seed is not None:
            seed, self._seed = self._seed, None
        elif seed is None and not self._running:
            seed = int(self.np_random.integers(1 << 63))
        self._running, self._seed = True, None
        self.world.start(seed)
        if self._others:
            self._others.reset()
        return self._observation(), {}

    def _put(self, action):
        if self._discrete:
            self._choice[0] = int(action)
            return
        if isinstance(action, dict):
            self._choice[0] = int(action["choice"])
            action = action["numbers"]
        self._numbers[:] = action

    def step(self, action):
        """One step: observation, the agent's reward, terminated, truncated, info."""
        if not self._running:
            raise gymnasium.error.ResetNeeded("reset() has to be called before step()")
        if self._others:
            choices, numbers = self._others.act()
            self.batch.choices[:], self.batch.numbers[:] = choices, numbers
        self._put(action)
        if self.render_mode:
            self.world.remember()
        handle, actions, out, error = self._call
        status = lib.ludus_batch_step(handle, actions, out, error)
        if status:
            fail(status, error)
        terminated, truncated = self._done[0][0] != 0, self._done[1][0] != 0
        info = {}
        if terminated or truncated:
            info["measures"] = self.scenario.measure(self.batch.states[0])
        return (self._only.copy() if self._only is not None else self._observation()), self._reward[0], terminated, \
            truncated, info

    def action_masks(self) -> np.ndarray:
        """bool[n_actions]: which choices are there now."""
        return self.batch.masks()[0, self.agent, :self.scenario.agents[self.agent].n_actions]

    def render(self):
        """The present state, uint8[height][width][3], or ``None`` without a render mode."""
        return self.world.draw() if self.render_mode else None
