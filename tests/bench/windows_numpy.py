"""The batches of `ludus bench windows` in NumPy and PyTorch, one thread each.

Run by hand, with NumPy and PyTorch installed:  python tests/bench/windows_numpy.py

Windows are gathered by index arrays, clamped for the reading only, and what lies behind an episode's end is
chosen to be zero: what a data loader does in these libraries without a loop over time steps.
"""
import statistics
import time

import numpy as np
import torch

EPISODES = 16000
SHAPES = [
    ("choices, 8 ahead, batches of 4,096", 1, 8, 4096),
    ("choices, 8 ahead, all in order", 1, 8, 0),
    ("2 numbers, 8 ahead, batches of 4,096", 2, 8, 4096),
    ("2 numbers, 16 ahead, all in order", 2, 16, 0),
    ("7 numbers, 16 ahead, batches of 4,096", 7, 16, 4096),
    ("32 numbers, 16 ahead, batches of 4,096", 32, 16, 4096),
]


def with_numpy(rows, first, end, horizon):
    index = first[:, None] + np.arange(horizon)
    valid = index < end[:, None]
    window = rows[np.minimum(index, end[:, None] - 1)]
    return np.where(valid[..., None], window, np.float32(0))


def with_torch(rows, first, end, horizon):
    index = first[:, None] + torch.arange(horizon)
    valid = index < end[:, None]
    window = rows[torch.minimum(index, end[:, None] - 1)]
    return torch.where(valid[..., None], window, torch.zeros((), dtype=rows.dtype))


def rate(work, bytes_of_call, repetitions=9, seconds=0.1):
    work()
    rates = []
    for _ in range(repetitions):
        begin, calls = time.perf_counter(), 0
        while (elapsed := time.perf_counter() - begin) < seconds or calls == 0:
            work()
            calls += 1
        rates.append(bytes_of_call * calls / (time.perf_counter() - begin) / 1e9)
    return statistics.median(rates)


def main():
    torch.set_num_threads(1)
    random = np.random.default_rng(1)
    offsets = np.concatenate([[0], np.cumsum(random.integers(20, 100, EPISODES))])
    ends = np.repeat(offsets[1:], np.diff(offsets))
    print(f"numpy {np.__version__}, torch {torch.__version__}, GB/s of windows")
    for name, width, horizon, batch in SHAPES:
        rows = random.random((offsets[-1], width), dtype=np.float32)
        first = random.integers(0, offsets[-1], batch) if batch else np.arange(offsets[-1])
        end = ends[first]
        bytes_of_call = len(first) * horizon * width * 4
        tensors = [torch.from_numpy(x) for x in (rows, first, end)]
        expected = with_numpy(rows, first, end, horizon)
        assert (with_torch(*tensors, horizon).numpy() == expected).all()
        numpy_rate = rate(lambda: with_numpy(rows, first, end, horizon), bytes_of_call)
        torch_rate = rate(lambda: with_torch(*tensors, horizon), bytes_of_call)
        print(f"  {name:42} numpy {numpy_rate:7.3f}   torch {torch_rate:7.3f}")


if __name__ == "__main__":
    main()
