import gc
import os
import signal
import threading

import numpy as np
import pytest

import ludus


def test_state_space(scenario):
    pytest.importorskip("scipy.sparse", reason="scipy is not installed")
    s = scenario("empo/fetch_the_key")
    space = ludus.StateSpace(s)
    assert (space.n_states, space.n_transitions) == (1589, 54592)
    matrices = [space.matrix(j) for j in range(space.n_joint_actions)]
    assert sum(m.nnz for m in matrices) == space.n_transitions
    sums = matrices[0].sum(axis=1)
    assert np.isclose(sums, 1).sum() == space.n_states - space.n_terminal and (sums[sums < 0.5] == 0).all()
    assert space.find(space.states[77]) == 77 and space.find(np.zeros(s.state_bytes, np.uint8)) is None
    joint = (2, 5)[:s.n_agents]
    number = space.joint_action(joint)
    assert space.actions(number) == joint
    states, probabilities = s.successors(space.states[3], joint)
    row = matrices[number][[3], :].toarray()[0]
    assert {space.find(x): p for x, p in zip(states, probabilities)} == {int(i): row[i] for i in np.flatnonzero(row)}
    states = space.states
    del space
    gc.collect()
    assert s.hash(states[0])
    with pytest.raises(ludus.Error):
        ludus.StateSpace(scenario("particle/simple"))
    with pytest.raises(ludus.Error) as caught:
        ludus.StateSpace(s, memory_limit=1000)
    assert caught.value.status == "ERROR_MEMORY"


def test_solution(scenario, tmp_path):
    s = scenario("empo/fetch_the_key")
    solution = ludus.solve(s, tmp_path / "run")
    n = solution.n_states
    assert n == 1589 and solution.v_r.shape == (n,) and np.isfinite(solution.v_r).all()
    assert [p.shape[0] for p in solution.pi_h] == [n] * len(solution.people)
    moving = solution.pi_r.sum(1) > 0
    assert np.allclose(solution.pi_r[moving].sum(1), 1) and moving.any()
    assert np.allclose(solution.pi_h[0][moving].sum(-1), 1)
    best = solution.q_r[moving].max(1)
    assert (best >= (solution.pi_r * solution.q_r)[moving].sum(1) - 1e-9).all()
    again = ludus.Solution(tmp_path / "run")
    assert np.array_equal(again.q_r, solution.q_r) and np.array_equal(again.states, solution.states)
    choices, _ = ludus.Run(tmp_path / "run").policy.act(states=solution.states[:3])
    assert choices.shape == (3, s.n_agents)
    with pytest.raises(ludus.Error) as caught:
        ludus.Run(tmp_path / "run").policy.act({p.name: np.zeros((1, *p.world_shape), p.dtype) for p in s.parts})
    assert caught.value.status == "ERROR_UNSUPPORTED"


def test_train_and_act(small, tmp_path):
    seen = []
    run = ludus.train(small, tmp_path / "run", device="cpu", progress=lambda *row: seen.append(row))
    metrics = run.metrics
    assert len(seen) == len(metrics) == seen[-1][1] and metrics["iteration"].tolist() == [row[0] for row in seen]
    assert np.allclose(metrics["reward"], [row[2]["reward"] for row in seen], rtol=1e-6)
    assert "evaluation/return" in run.evaluate()

    batch = ludus.Batch(run.scenario, 6, seed=1)
    policy = run.policy_for(batch)
    batch.reset()
    policy.reset()
    choices, _ = policy.act()
    own = run.policy
    assert np.array_equal(own.act(batch.observations["observation"])[0].shape, choices.shape)
    # what observations tell is all that it acts on: other observations, other actions; other draws at each call
    calm = np.stack([own.act(np.zeros((6, 3, 18), np.float32))[0].copy() for _ in range(20)])
    assert calm.min() >= 0 and calm.max() < 5
    with pytest.raises(ludus.Error, match="expected shape"):
        own.act(np.zeros((6, 3, 17), np.float32))
    with pytest.raises(ludus.Error, match="expected observations"):
        own.act()


def test_same_observations_same_policy(small, tmp_path):
    """Given the observations of its batch, a policy has the probabilities that it has in its states."""
    run = ludus.train(small, tmp_path / "run", device="cpu")
    batch = ludus.Batch(run.scenario, 50, seed=1)
    batch.reset()
    inside, outside = run.policy_for(batch), run.policy_for(batch)
    inside.act()
    outside.act(batch.observations)
    same = inside.choices == outside.choices
    assert same.any() and np.allclose(inside.log_probs[same], outside.log_probs[same], atol=1e-6)


def test_callbacks_raise(small, tmp_path):
    def stumble(iteration, n_iterations, metrics):
        if iteration == 2:
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        ludus.train(small, tmp_path / "a", device="cpu", progress=stumble)
    assert len(ludus.Run(tmp_path / "a").metrics) == 2  # what was finished is there
    run = ludus.train(small, tmp_path / "b", device="cpu", progress=lambda iteration, *_: iteration < 3)
    assert len(run.metrics) == 3
    whole = ludus.train(small, tmp_path / "b", device="cpu", resume=True)
    assert len(whole.metrics) > 3
    with pytest.raises(ludus.Error):
        ludus.train(small, tmp_path / "b", device="cpu")  # the folder exists


def test_interrupts(scenario):
    """Ctrl-C ends a long call, and the next one works."""
    def press():
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.3, press)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        while True:  # twenty million states: it never comes to an end before
            ludus.StateSpace(scenario("multigrid/rescue"), threads=1)
    timer.join()
    assert ludus.StateSpace(scenario("empo/fetch_the_key")).n_states == 1589


def test_record(scenario, tmp_path):
    ludus.record(scenario("multigrid/tiny"), tmp_path / "data.h5", episodes=2)
    ludus.record(scenario("multigrid/tiny"), tmp_path / "picture.gif")
    assert (tmp_path / "data.h5").stat().st_size and (tmp_path / "picture.gif").read_bytes()[:3] == b"GIF"


def test_proof_trees_read_back():
    from ludus.proofs import Proof
    def fact(atom, score=None):
        return {"atom": atom, "rule": None, "rule_name": None, "children": []} | ({"score": score} if score else {})

    tree = {"atom": "a(x,y)", "rule": "b(x,z), c(z,y) -> a(x,y)", "rule_name": "r_1", "children": [
        {"atom": "b(x,z)", "rule": "d(z,x) -> b(x,z)", "rule_name": "r_2", "children": [fact("d(z,x)", 0.5)]},
        fact("c(z,y)", 1.0)]}
    proof = Proof.read(tree)
    assert str(proof) == ("a(x,y)  by r_1: b(x,z), c(z,y) -> a(x,y)\n├─ b(x,z)  by r_2: d(z,x) -> b(x,z)\n"
                          "│  └─ d(z,x)  fact (score 0.5)\n└─ c(z,y)  fact")
    assert proof.depth == 2 and [c.atom for c in proof.children] == ["b(x,z)", "c(z,y)"]


def test_knowledge_graph(tmp_path):
    small = {"learner.total_steps": 256, "learner.n_envs": 8, "learner.n_steps": 32, "learner.batch_size": 64,
             "learner.evaluation.queries": 5, "learner.evaluation.candidates": 5, "learner.n_epochs": 1}
    ludus.train(ludus.scenario_path("proof/family_tree"), tmp_path / "run", overrides=small, device="cpu")
    graph = ludus.KnowledgeGraph(tmp_path / "run")
    answers = graph.prove("grandfather(adam_bach, y)", answers=2)
    assert 1 <= len(answers) <= 2 and set(answers[0].bindings) == {"y"}
    assert answers[0].proved and answers[0].proof.atom == answers[0].atom
    text = str(answers[0].proof)
    assert text.splitlines()[0].startswith(answers[0].atom) and text.splitlines()[-1].endswith("fact")
    refuted, = graph.prove("grandfather(adam_bach, adam_bach)")
    assert not refuted.proved and refuted.proof is None and refuted.follows == "refuted"
    with pytest.raises(ludus.Error):
        graph.prove("grandfather(adam_bach")
