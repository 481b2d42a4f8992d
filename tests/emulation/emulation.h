// What the parts of the emulation share.
#pragma once

#include "cuda_runtime.h"

namespace emulation {

// A NaN in every type of number, and as an index far outside of everything.
const uint32_t SPOILED = 0xfff7f7f7u;
void spoil(void *memory, size_t bytes);

// ---- memory.cc

// Emulated device memory; null when it is out. Release tells whether the block was one of its own.
void *memory_take(size_t bytes);
bool memory_release(void *memory);
// Whether the range lies inside one block that is taken, and whether any byte of it is device memory at all.
bool memory_covers(const void *memory, size_t bytes);
bool memory_touches(const void *memory, size_t bytes);
size_t memory_in_use();
size_t memory_limit();
// Between these two calls the calling thread may read and write device memory; else a touch by the host is a
// fault, where the processor has protection keys.
void memory_open();
void memory_close();

// ---- threads.cc

// Runs every thread of every block. False, with a message on stderr, when threads do not meet as CUDA
// demands.
bool run_blocks(const shape &launch, const std::function<void()> &thread);
void seed_order(uint64_t seed);

// ---- runtime.cc

// What became of a piece of work: a device that fails does nothing any more, and one that must wait for
// somebody else is asked again.
enum outcome { FAILED = false, DONE = true, NOT_YET };
// Puts a piece of work, which returns an outcome, into the stream, or into the graph that it records.
cudaError_t enqueue_work(cudaStream_t stream, std::function<int()> work);
// The device that this process has chosen.
int chosen_device();

} // namespace emulation
