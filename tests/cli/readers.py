"""What h5py and Minari see of data sets, and data sets that Minari has made: for tests/cli/test_data_sets.c.

readers.py read FILE FOLDER   a line `EPISODE NAME ROWS CRC32` for every array of every episode, as Minari reads it
                              from FOLDER; what h5py finds in the columns of FILE must be the same
readers.py make FOLDER KIND   makes a data set of Minari's own, KIND discrete or box, and prints the same lines
"""

import os
import sys
import zlib

import numpy as np


def show(episode, name, array):
    array = np.ascontiguousarray(array)
    print(episode, name, len(array), zlib.crc32(array.tobytes()))


def show_episode(number, observations, actions, rewards, terminations, truncations):
    parts = observations if isinstance(observations, dict) else {"observation": observations}
    for name in sorted(parts):
        array = np.asarray(parts[name])
        wanted = array.dtype if array.dtype in (np.uint8, np.int32) else np.float32
        show(number, "observations/" + name, array.astype(wanted))
    actions = actions if isinstance(actions, dict) else {"actions": actions}
    for name in sorted(actions):
        array = np.asarray(actions[name])
        kind = np.float32 if array.dtype.kind == "f" else np.int32
        show(number, "continuous" if kind == np.float32 else "discrete", array.astype(kind))
    show(number, "rewards", np.asarray(rewards).astype(np.float32))
    print(number, "end", int(np.asarray(terminations)[-1]), int(np.asarray(truncations)[-1]))


def read(file, folder):
    import h5py
    import minari

    data = minari.MinariDataset(folder)
    with h5py.File(file, "r") as columns:
        own = columns["ludus"]
        lengths = own["episodes/length"][:]
        assert data.total_episodes == len(lengths) == columns.attrs["total_episodes"]
        assert data.total_steps == lengths.sum() == columns.attrs["total_steps"]
        step = frame = 0
        for episode, length in zip(data.iterate_episodes(), lengths):
            assert len(episode.rewards) == length
            assert not episode.terminations[:-1].any() and not episode.truncations[:-1].any()
            rewards = own["steps/rewards"][step : step + length]
            assert np.array_equal(episode.rewards.reshape(rewards.shape), rewards)
            for name, array in episode.observations.items():
                stored = own["frames/observations/" + name][frame : frame + length + 1]
                assert np.array_equal(array.reshape(stored.shape), stored)
                assert array.shape[1:] == data.observation_space[name].shape
                assert array.dtype == data.observation_space[name].dtype
            step += length
            frame += length + 1
            show_episode(episode.id, episode.observations, episode.actions, episode.rewards, episode.terminations,
                         episode.truncations)


def make(folder, kind):
    from gymnasium import spaces
    from minari.data_collector import EpisodeBuffer
    from minari.dataset.minari_storage import MinariStorage

    random = np.random.default_rng(5)
    folder = os.path.abspath(folder)
    if kind == "discrete":
        observation_space = spaces.Dict({"near": spaces.Box(-9, 9, (3, 2), np.float64),
                                         "pixels": spaces.Box(0, 255, (4,), np.uint8)})
        action_space = spaces.Discrete(6)
    else:
        observation_space = spaces.Box(-9, 9, (5,), np.float32)
        action_space = spaces.Box(-2, 2, (3,), np.float32)
    storage = MinariStorage.new(folder, observation_space, action_space, data_format="hdf5")
    for number, length in enumerate((7, 1, 12)):
        if kind == "discrete":
            observations = {"near": random.normal(size=(length + 1, 3, 2)),
                            "pixels": random.integers(0, 256, (length + 1, 4)).astype(np.uint8)}
            actions = random.integers(0, 5, length)
        else:
            observations = random.normal(size=(length + 1, 5)).astype(np.float32)
            actions = random.normal(size=(length, 3)).astype(np.float32)
        rewards = random.normal(size=length)
        ends = np.arange(length) == length - 1
        buffer = EpisodeBuffer(id=None, seed=number, observations=observations, actions=actions, rewards=list(rewards),
                               terminations=list(ends & (number != 1)), truncations=list(ends & (number == 1)))
        storage.update_episodes([buffer])
        show_episode(number, observations, actions, rewards, buffer.terminations, buffer.truncations)


if __name__ == "__main__":
    {"read": read, "make": make}[sys.argv[1]](*sys.argv[2:])
