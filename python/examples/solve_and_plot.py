"""Solves an EMPO world exactly and plots what the robot's best policy is worth.

    python solve_and_plot.py [--world empo/fetch_the_key] [-o fetch_the_key.png] [--short]

Left: V_r of every state by its distance from the start. Right: the power of the person along the most probable episode,
with the robot on the solution, and the first and the last state of it.
"""

import argparse
import tempfile

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

import ludus  # noqa: E402


def episode(scenario, solution, run, steps):
    """Numbers of the states of one episode in which everybody acts on the solution."""
    batch = ludus.Batch(scenario, 1, seed=1, threads=1, end="stays")
    policy = ludus.Policy(batch, run)
    batch.reset()
    policy.reset()
    number = {state.tobytes(): i for i, state in enumerate(solution.states)}
    path = [number[batch.states[0].tobytes()]]
    while not (batch.terminated[0] or batch.truncated[0]) and len(path) <= steps:
        batch.step(*policy.act())
        path.append(number[batch.states[0].tobytes()])
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--world", default="empo/fetch_the_key")
    parser.add_argument("-o", "--out", default="solution.png")
    parser.add_argument("--short", action="store_true", help="a small picture")
    options = parser.parse_args()
    scenario = ludus.Scenario(ludus.scenario_path(options.world))
    with tempfile.TemporaryDirectory() as folder:
        solution = ludus.solve(scenario, f"{folder}/run")
        space = ludus.StateSpace(scenario)
        path = episode(scenario, solution, f"{folder}/run", scenario.max_steps or 1000)
        print(f"{space.n_states} states, {space.n_transitions} transitions; V_r of the first {solution.v_r[0]:.4f}")
        distance = np.searchsorted(space.layers, np.arange(space.n_states), side="right") - 1

        figure, axes = plt.subplots(2, 2, figsize=(9, 7), dpi=40 if options.short else 120)
        axes[0, 0].scatter(distance, solution.v_r, s=4, alpha=0.4)
        axes[0, 0].set(xlabel="steps from the start", ylabel="V_r", title="every reachable state")
        for person, index in enumerate(solution.people):
            axes[0, 1].plot(solution.x_h[path, person], marker="o", label=scenario.agents[index].name)
        axes[0, 1].set(xlabel="step", ylabel="X_h", title="power along an episode")
        axes[0, 1].legend()
        for axis, at, title in ((axes[1, 0], path[0], "first state"), (axes[1, 1], path[-1], "last state")):
            axis.imshow(scenario.render(solution.states[at], width=320))
            axis.set_title(title)
            axis.axis("off")
        figure.tight_layout()
        figure.savefig(options.out)
        print(f"{options.out}: power {solution.x_h[path[0]].sum():.3f} at first, at most {solution.x_h[path].sum(1).max():.3f}")


if __name__ == "__main__":
    main()
