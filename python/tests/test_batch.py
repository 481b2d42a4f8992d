import gc
import json
import multiprocessing
import os
import pickle
import resource
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import SMALL

import ludus
from ludus._library import ffi, lib

WORLDS = ["multigrid/rescue", "multigrid/unsteady_ground", "particle/simple_spread", "tribes/small", "proof/family_tree"]
PROGRAM = Path(os.environ.get("LUDUS_LIBRARY", "/nowhere")).parent / "ludus"


def choose(batch, generator):
    """Choices that are there."""
    masks = batch.masks()
    scores = np.where(masks, generator.random(masks.shape), -1)
    batch.choices[:] = scores.argmax(-1)


@pytest.mark.parametrize("world", WORLDS)
def test_same_bytes_as_c(scenario, world):
    """The same calls by hand, with arrays of their own, leave the same bytes."""
    s = scenario(world)
    n = 70
    batch = ludus.Batch(s, n, seed=9, threads=2)
    options = ffi.new("ludus_batch_options *", {"n_environments": n, "n_threads": 1, "seed": 9})
    out, error = ffi.new("ludus_batch **"), ffi.new("ludus_error *")
    assert lib.ludus_batch_create(s.handle, options, out, error) == 0
    rewards = np.zeros((n, s.n_agents), np.float32)
    parts = [np.zeros((n, *p.world_shape), p.dtype) for p in s.parts]
    addresses = ffi.new("void *[]", [ffi.cast("void *", p.ctypes.data) for p in parts])
    to = ffi.new("ludus_out *", {"rewards": ffi.cast("float *", rewards.ctypes.data), "observations": addresses})
    actions = ffi.new("ludus_actions *", {"discrete": ffi.cast("int32_t *", batch.choices.ctypes.data)})
    batch.reset()
    assert lib.ludus_batch_reset(out[0], ffi.NULL, to, error) == 0
    generator = np.random.default_rng(1)
    for _ in range(60):
        choose(batch, generator)
        batch.step()
        assert lib.ludus_batch_step(out[0], actions, to, error) == 0
        states = ffi.buffer(lib.ludus_batch_states(out[0]), n * s.state_bytes)
        assert bytes(states) == batch.states.tobytes()
        assert rewards.tobytes() == batch.rewards.tobytes()
        for part, array in zip(s.parts, parts):
            assert array.tobytes() == batch.observations[part.name].tobytes()
    lib.ludus_batch_free(out[0])


@pytest.mark.skipif(not PROGRAM.exists(), reason="the program is not beside the library")
@pytest.mark.parametrize("world", ["multigrid/rescue", "multigrid/key_door_8x8", "particle/simple_spread"])
def test_same_as_the_program(scenario, world):
    """What `ludus run` says of 200 episodes is what 50 environments stepped here come to."""
    s, n, episodes = scenario(world), 50, 200
    said = json.loads(subprocess.run([PROGRAM, "run", s.path, "--episodes", str(episodes), "--envs", str(n), "--seed", "3",
                                      "--json", "-q"], check=True, capture_output=True, text=True).stdout)
    batch = ludus.Batch(s, n, seed=3, final=True)
    policy = ludus.Policy(batch)
    batch.reset()
    policy.reset()
    returns, lengths, measures = np.zeros((n, s.n_agents)), np.zeros(n), []
    ended, n_of = [], np.zeros(n, int)
    while (n_of < episodes // n).any():
        batch.step(*policy.act())
        returns += batch.rewards
        lengths += 1
        over = batch.terminated | batch.truncated
        for e in np.flatnonzero(over & (n_of < episodes // n)):
            ended.append((returns[e].copy(), lengths[e]))
            measures.append(s.measure(batch.final_states[e]))
        n_of[over] += 1
        returns[over], lengths[over] = 0, 0
        policy.reset(over)
    assert said["length"]["mean"] == pytest.approx(np.mean([length for _, length in ended]), rel=1e-12)
    for agent in said["agents"]:
        expected = np.mean([r[agent["agent"]] for r, _ in ended])
        assert agent["return"]["mean"] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    for name, value in said["measures"].items():
        numbers = [m[name] for m in measures if not np.isnan(m[name])]
        assert value["mean"] == pytest.approx(np.mean(numbers), rel=1e-9, abs=1e-12), name


def test_arrays_of_the_caller(scenario):
    batch = ludus.Batch(scenario("particle/simple_spread"), 5)
    mine, rewards = np.zeros((5, 3, 18), np.float32), np.zeros((5, 3), np.float32)
    batch.bind(observations={"observation": mine}, rewards=rewards)
    assert batch.reset()["observation"] is mine and mine.any()
    batch.step(np.ones((5, 3), np.int64))
    assert batch.rewards is rewards and rewards.any()
    with pytest.raises(ludus.Error, match=r"rewards: expected float32\[5, 3\]"):
        batch.bind(rewards=np.zeros((5, 3)))
    with pytest.raises(ludus.Error, match="contiguous"):
        batch.bind(rewards=np.zeros((3, 5), np.float32).T)
    batch.bind(observations={"observation": None})
    before = mine.copy()
    batch.step()
    assert np.array_equal(before, mine)


def test_dlpack(scenario):
    """Arrays go out and come in by DLPack without a copy."""
    batch = ludus.Batch(scenario("particle/simple_spread"), 5)
    twin = np.from_dlpack(batch.rewards)
    assert np.shares_memory(twin, batch.rewards)

    class Tensor:  # what a CPU tensor of another library shows of itself
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    mine = np.zeros((5, 3), np.float32)
    batch.bind(rewards=Tensor(mine))
    batch.step()
    assert mine.any()


def test_torch(scenario):
    """Tensors of PyTorch are stepped into, and see what is stepped, without a copy."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    batch = ludus.Batch(scenario("particle/simple_spread"), 5, seed=1)
    rewards, seen = torch.zeros(5, 3), torch.zeros(5, 3, 18)
    batch.bind(observations={"observation": seen}, rewards=rewards)
    batch.reset()
    first = seen.clone()
    batch.step(np.ones((5, 3), np.int32))
    assert rewards.abs().sum() > 0 and not torch.equal(first, seen)
    # PyTorch takes bools by DLPack from 2 on
    twins = (torch.from_dlpack(batch.choices), batch.choices), (torch.from_numpy(batch.terminated), batch.terminated)
    for twin, array in twins:
        assert twin.data_ptr() == array.ctypes.data
    with pytest.raises(ludus.Error, match="float32"):
        batch.bind(rewards=torch.zeros(5, 3, dtype=torch.float64))


def test_jax(scenario):
    """JAX sees the arrays by DLPack; its own never change, so nothing is stepped into them."""
    jax = pytest.importorskip("jax", reason="jax is not installed")
    batch = ludus.Batch(scenario("particle/simple_spread"), 64, seed=1)
    batch.reset()
    seen = jax.numpy.from_dlpack(batch.observations["observation"])
    assert np.array_equal(np.asarray(seen), batch.observations["observation"])


def test_views_outlive_their_batch(scenario):
    batch = ludus.Batch(scenario("multigrid/tiny"), 3)
    states, expected = batch.states, batch.states.copy()
    assert not states.flags.writeable
    del batch
    gc.collect()
    assert np.array_equal(states, expected)


def test_errors(scenario, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We\n  max_stepz: 3\n")
    with pytest.raises(ludus.Error) as caught:
        ludus.Scenario(file)
    assert caught.value.line == 6 and caught.value.file == str(file) and "max_steps" in caught.value.message
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.line, str(again)) == (6, str(caught.value))
    with pytest.raises(ludus.Error, match="^nowhere.yaml: no such file") as caught:
        ludus.Scenario("nowhere.yaml")
    assert caught.value.file == "nowhere.yaml" and caught.value.line is None
    with pytest.raises(ludus.Error) as caught:
        ludus.Solution(str(tmp_path))
    assert caught.value.file and str(tmp_path) in caught.value.file
    batch = ludus.Batch(scenario("multigrid/tiny"), 2)
    with pytest.raises(ludus.Error, match="choice 99"):
        batch.step(np.array([[0], [99]]))
    with pytest.raises(ludus.Error, match="shape"):
        batch.step(np.zeros((3, 1), np.int32))
    with pytest.raises(ludus.Error, match="whole numbers"):
        batch.step(np.zeros((2, 1)))
    with pytest.raises(ludus.Error, match="max_steps"):
        scenario("multigrid/tiny", **{"multigrid.max_steps": "many"})


def test_states_and_snapshots(scenario):
    s = scenario("multigrid/unsteady_ground")
    state = s.initial_state(seed=1)
    states, p = s.successors(state, [3] * s.n_agents)
    assert p.sum() == pytest.approx(1) and states.shape == (len(p), s.state_bytes)
    s.check_state(states[0])
    assert s.describe(state) and s.hash(state) != s.hash(states[-1])
    assert s.render(state, width=64).shape[1:] == (64, 3)
    batch = ludus.Batch(s, 4, seed=2)
    snapshot = batch.save()
    for _ in range(9):
        batch.step()
    after = batch.states.copy()
    batch.load(snapshot)
    for _ in range(9):
        batch.step()
    assert np.array_equal(after, batch.states)
    batch.set_states(state[None], first=2)
    assert np.array_equal(batch.states[2], state)
    with pytest.raises(ludus.Error):
        batch.set_states(np.full((1, s.state_bytes), 255, np.uint8))
    assert pickle.loads(pickle.dumps(s)).text() == s.text()


def bytes_of_run(_=None):
    """States after some steps by two threads, and whether there are two."""
    batch = ludus.Batch(ludus.scenario_path("multigrid/unsteady_ground"), 200, seed=6, threads=2)
    for _ in range(5):
        batch.step()
    return batch.states.tobytes(), len(os.listdir("/proc/self/task")) > 1


def learned(folder):
    """The parameters that a training with two threads ends with."""
    ludus.train(ludus.Scenario("small.yaml", {"run.threads": 2}, text=SMALL), folder, device="cpu")
    return (Path(folder) / "policy.safetensors").read_bytes()


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_workers(method, tmp_path):
    """Workers of a process that has used two threads use two as well and get the same bytes; so does it afterwards."""
    expected, ours = bytes_of_run(), learned(tmp_path / "ours")
    assert expected[1]
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map_async(bytes_of_run, range(2)).get(timeout=120) == [expected, expected]
        theirs = pool.map_async(learned, [tmp_path / "first", tmp_path / "second"]).get(timeout=240)
    assert theirs == [ours, ours] and bytes_of_run() == expected


def test_nothing_leaks(scenario):
    """Memory is that of one round, not of a thousand."""
    s = scenario("multigrid/tiny")

    def rounds(n):
        for i in range(n):
            batch = ludus.Batch(ludus.Scenario(s.path), 512)
            ludus.Policy(batch)
            if i % 8 == 0:
                ludus.Renderer(s, 64)
            s.describe(batch.states[0])
            batch.step()
        gc.collect()
        return resident()

    def resident():
        return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()

    rounds(50)
    before = resident()
    assert rounds(400) - before < 4 << 20


def test_the_interpreter_runs_meanwhile(scenario):
    """While a long call computes, other threads of Python count."""
    count = [0]
    stop = threading.Event()

    def counting():
        while not stop.is_set():
            count[0] += 1
            time.sleep(0.0005)

    thread = threading.Thread(target=counting)
    batch = ludus.Batch(scenario("multigrid/rescue"), 1 << 16, threads=1)
    thread.start()
    before = count[0]
    deadline = time.monotonic() + 60
    inside = 0
    while inside < 3 and time.monotonic() < deadline:
        at = count[0]
        batch.step()
        inside += count[0] > at + 1
    stop.set()
    thread.join()
    assert inside == 3 and count[0] > before
