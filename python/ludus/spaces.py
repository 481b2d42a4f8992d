"""Gymnasium spaces of agents, of teams and of what they observe."""

import numpy as np
from gymnasium import spaces

from ._library import Error
from .scenario import Agent, Part, Scenario


def of_part(part: Part, shape) -> spaces.Box:
    """The values of an array of that shape."""
    if part.kind == "mask":
        return spaces.Box(0, 1, shape, part.dtype)
    if part.dtype == np.float32:
        return spaces.Box(-np.inf, np.inf, shape, np.float32)
    limits = np.iinfo(part.dtype)
    return spaces.Box(limits.min, limits.max, shape, part.dtype)


def of_observation(scenario: Scenario, single_agent: bool):
    """A Box where there is one part, else a Dict. `single_agent`: without the agents' dimension."""
    if not scenario.parts:
        raise Error(f"{scenario.name}: agents observe nothing, so there is no space of observations")
    parts = {p.name: of_part(p, p.shape if single_agent else p.world_shape) for p in scenario.parts}
    return next(iter(parts.values())) if len(parts) == 1 else spaces.Dict(parts)


def _joined(choice, numbers):
    if choice is None or numbers is None:
        return numbers if choice is None else choice
    return spaces.Dict({"choice": choice, "numbers": numbers})


def of_agent(agent: Agent):
    """Discrete, Box, or a Dict of ``choice`` and ``numbers`` where an agent has both."""
    choice = spaces.Discrete(agent.n_actions) if agent.n_actions else None
    numbers = spaces.Box(agent.low, agent.high, (agent.n_continuous,), np.float32) if agent.n_continuous else None
    if choice is None and numbers is None:
        raise Error(f"{agent.name} has nothing to choose")
    return _joined(choice, numbers)


def of_team(scenario: Scenario):
    """What all agents of a world do together: MultiDiscrete[n_agents], Box[n_agents][max_continuous], or both."""
    agents = scenario.agents
    if len(agents) == 1:
        return of_agent(agents[0])
    choice = spaces.MultiDiscrete([max(1, a.n_actions) for a in agents], dtype=np.int32) if scenario.max_actions else None
    numbers = None
    if scenario.max_continuous:
        low, high = min(a.low for a in agents), max(a.high for a in agents)
        numbers = spaces.Box(low, high, (len(agents), scenario.max_continuous), np.float32)
    return _joined(choice, numbers)


def of_each(scenario: Scenario):
    """The space that all agents share; an error where they have different ones."""
    first = of_agent(scenario.agents[0])
    for agent in scenario.agents[1:]:
        if of_agent(agent) != first:
            raise Error(f"{scenario.name}: {agent.name} has other actions than agent_0, so agents cannot be rows of one "
                        "vector; expected the same for all")
    return first
