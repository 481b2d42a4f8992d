// Blocks one after another, in a drawn order; the threads of a block are fibers. A thread runs until it meets
// others; the warp that goes on is drawn, and so is the order of its lanes, so that a missing barrier changes
// results.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "emulation.h"

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ADDRESS_SANITIZER 1
#endif
#endif
#ifdef ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif

// What the compiler laid into the section of static shared memory; absent when no kernel has any.
extern "C" char __start_emulated_shared[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_emulated_shared[] __attribute__((weak, visibility("hidden")));

namespace emulation {

dim3 thread_index, block_index;
shape running;

namespace {

enum { WARP_LANES = 32, MAX_THREADS = 1024, STACK_BYTES = 256 << 10, MAX_SHARED = 48 << 10 };

// ---- fibers

struct context {
    void *stack_pointer;
#if !defined(__x86_64__)
    ucontext_t machine;
#endif
    const void *bottom; // of its stack, for the address sanitizer
    size_t bytes;
    void *fake_stack;
};

#if defined(__x86_64__)
extern "C" void emulation_switch(void **from, void *to);
asm(".text\n"
    ".globl emulation_switch\n"
    ".hidden emulation_switch\n"
    ".type emulation_switch, @function\n"
    "emulation_switch:\n"
    "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
    "    movq %rsp, (%rdi)\n"
    "    movq %rsi, %rsp\n"
    "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
    "    ret\n"
    ".size emulation_switch, . - emulation_switch\n");
#endif

void arrive(const context *here); // tells the address sanitizer where the thread runs now

void switch_context(context *from, context *to) {
#ifdef ADDRESS_SANITIZER
    __sanitizer_start_switch_fiber(&from->fake_stack, to->bottom, to->bytes);
#endif
#if defined(__x86_64__)
    emulation_switch(&from->stack_pointer, to->stack_pointer);
#else
    swapcontext(&from->machine, &to->machine);
#endif
    arrive(from);
}

// A worker runs threads to their end, one after another; a thread that has to wait keeps its worker.
struct worker {
    context own;
    int thread; // the one it runs next or keeps
    bool idle;
};

// ---- the block that runs

enum state { FRESH, READY, IN_WARP, AT_BARRIER, DONE };

struct thread {
    state now;
    worker *on;
    meeting kind; // what it waits in
    unsigned mask;
    int parameter;
    uint64_t value, result;
};

struct block_run {
    context scheduler;
    const std::function<void()> *body;
    thread threads[MAX_THREADS];
    int n_threads, n_warps, current;
    bool failed;
    std::vector<std::unique_ptr<worker>> workers;
    std::vector<worker *> free_workers;
    std::vector<char> shared;
    uint64_t random;
};

block_run run;

void arrive(const context *here) {
#ifdef ADDRESS_SANITIZER
    const void *bottom = nullptr;
    size_t bytes = 0;
    __sanitizer_finish_switch_fiber(here->fake_stack, &bottom, &bytes);
    if (here != &run.scheduler) {
        run.scheduler.bottom = bottom;
        run.scheduler.bytes = bytes;
    }
#else
    (void)here;
#endif
}

uint64_t next_random() { // Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014
    uint64_t z = run.random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
uint64_t below(uint64_t n) {
    return next_random() % n;
}

uint64_t common_divisor(uint64_t a, uint64_t b) {
    return b == 0 ? a : common_divisor(b, a % b);
}

// The numbers below n in a drawn order, without a list: at(i) = (i * step + start) mod n, step without
// divisor of n.
struct order {
    uint64_t n, step, start;
    explicit order(uint64_t n_) : n(n_), step(1), start(below(n_)) {
        do step = 1 + below(n);
        while (common_divisor(step, n) != 1);
    }
    uint64_t at(uint64_t i) const { return (i * step + start) % n; }
};

void complain(const char *what, int at) {
    if (run.failed) return;
    run.failed = true;
    fprintf(stderr, "emulated CUDA: %s (block %u %u %u, thread %d of %d)\n", what, block_index.x,
            block_index.y, block_index.z, at, run.n_threads);
}

void place(int at) {
    unsigned t = (unsigned)at;
    const dim3 &size = running.block;
    run.current = at;
    thread_index.x = t % size.x;
    thread_index.y = t / size.x % size.y;
    thread_index.z = t / size.x / size.y;
}

void work(worker *self) {
    arrive(&self->own);
    for (;;) {
        (*run.body)();
        run.threads[run.current].now = DONE;
        // the scheduler names the next thread, mostly one more of this warp
        self->idle = true;
        switch_context(&self->own, &run.scheduler);
    }
}

worker *start_of_work; // handed to the first run of a fiber
void enter() {
    work(start_of_work);
}

worker *new_worker() {
    auto made = std::make_unique<worker>();
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *stack = static_cast<char *>(mmap(nullptr, STACK_BYTES + page, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (stack == MAP_FAILED) {
        perror("stack of an emulated thread");
        abort();
    }
    mprotect(stack, page, PROT_NONE);
    context &c = made->own;
    c = context();
    c.bottom = stack + page;
    c.bytes = STACK_BYTES;
#if defined(__x86_64__)
    void **top = reinterpret_cast<void **>(stack + page + STACK_BYTES);
    *--top = nullptr; // keeps the stack aligned as at a call, and ends back traces
    *--top = reinterpret_cast<void *>(&enter);
    for (int i = 0; i < 6; ++i) *--top = nullptr; // the registers that a switch takes off
    c.stack_pointer = top;
#else
    getcontext(&c.machine);
    c.machine.uc_stack.ss_sp = stack + page;
    c.machine.uc_stack.ss_size = STACK_BYTES;
    c.machine.uc_link = nullptr;
    makecontext(&c.machine, enter, 0);
#endif
    run.workers.push_back(std::move(made));
    return run.workers.back().get();
}

// Runs thread `at` until it waits or ends.
void resume(int at) {
    thread &t = run.threads[at];
    place(at);
    if (t.now == FRESH) {
        if (run.free_workers.empty()) run.free_workers.push_back(new_worker());
        t.on = run.free_workers.back();
        run.free_workers.pop_back();
        start_of_work = t.on;
    }
    t.now = READY;
    worker *w = t.on;
    w->thread = at;
    w->idle = false;
    switch_context(&run.scheduler, &w->own);
    if (w->idle) run.free_workers.push_back(w);
}

void wait(state why) {
    int at = run.current;
    thread &t = run.threads[at];
    t.now = why;
    switch_context(&t.on->own, &run.scheduler);
}

// The meeting of the lanes in `mask` is complete: gives each its result.
void conclude(int first, unsigned mask) {
    unsigned votes = 0;
    for (int lane = 0; lane < WARP_LANES; ++lane)
        if (mask >> lane & 1 && run.threads[first + lane].value) votes |= 1u << lane;
    for (int lane = 0; lane < WARP_LANES; ++lane) {
        if (!(mask >> lane & 1)) continue;
        thread &t = run.threads[first + lane];
        int from = lane;
        switch (t.kind) {
        case SHUFFLE:
            from = t.parameter & (WARP_LANES - 1);
            break;
        case SHUFFLE_XOR:
            from = lane ^ t.parameter;
            break;
        case SHUFFLE_UP:
            from = lane - t.parameter < 0 ? lane : lane - t.parameter;
            break;
        case SHUFFLE_DOWN:
            from = lane + t.parameter >= WARP_LANES ? lane : lane + t.parameter;
            break;
        default:
            break;
        }
        if (from >= WARP_LANES || !(mask >> from & 1)) {
            complain("a shuffle reads a lane that does not take part", first + lane);
            from = lane;
        }
        t.result = t.kind == BALLOT ? votes : run.threads[first + from].value;
    }
    for (int lane = 0; lane < WARP_LANES; ++lane)
        if (mask >> lane & 1) run.threads[first + lane].now = READY;
}

// Whether all lanes of the mask wait in the same meeting as thread `at`.
bool all_here(int at, int first, unsigned mask) {
    const thread &own = run.threads[at];
    for (int lane = 0; lane < WARP_LANES; ++lane) {
        if (!(mask >> lane & 1) || first + lane == at) continue;
        if (first + lane >= run.n_threads || run.threads[first + lane].now == DONE) {
            complain("a lane of the mask does not exist or has ended", at);
            return false;
        }
        const thread &other = run.threads[first + lane];
        if (other.now != IN_WARP) return false;
        if (!(other.mask >> (at - first) & 1)) return false; // it still meets others
        if (other.kind != own.kind || other.mask != mask) {
            complain("lanes of one warp meet in different operations", at);
            return false;
        }
    }
    return true;
}

bool finish_barrier() {
    int waiting = 0, done = 0, at = -1;
    for (int i = 0; i < run.n_threads; ++i) {
        waiting += run.threads[i].now == AT_BARRIER;
        done += run.threads[i].now == DONE;
        if (run.threads[i].now == IN_WARP) at = i;
    }
    if (at >= 0) {
        complain("a lane waits for others of its warp that do not come", at);
    } else if (done > 0) {
        complain("__syncthreads is not reached by all threads", 0);
    } else if (waiting == run.n_threads) {
        for (int i = 0; i < run.n_threads; ++i) run.threads[i].now = READY;
        return true;
    }
    return false;
}

void run_block() {
    for (int i = 0; i < run.n_threads; ++i) run.threads[i].now = FRESH;
    if (__start_emulated_shared)
        spoil(__start_emulated_shared, (size_t)(__stop_emulated_shared - __start_emulated_shared));
    if (running.shared_bytes > 0) spoil(run.shared.data(), running.shared_bytes);
    int left = run.n_threads;
    while (left > 0 && !run.failed) {
        bool moved = false;
        order warps((uint64_t)run.n_warps);
        for (int i = 0; i < run.n_warps && !run.failed; ++i) {
            int first = (int)warps.at((uint64_t)i) * WARP_LANES;
            int lanes = run.n_threads - first < WARP_LANES ? run.n_threads - first : WARP_LANES;
            // a warp may run far ahead of the others, or not
            for (bool again = true; again && !run.failed;) {
                again = false;
                order turn((uint64_t)lanes);
                for (int k = 0; k < lanes && !run.failed; ++k) {
                    int at = first + (int)turn.at((uint64_t)k);
                    if (run.threads[at].now != FRESH && run.threads[at].now != READY) continue;
                    resume(at);
                    left -= run.threads[at].now == DONE;
                    moved = again = true;
                }
                again = again && below(4) != 0;
            }
        }
        if (!moved && left > 0 && !run.failed && !finish_barrier())
            complain("the threads wait for each other", 0);
    }
}

} // namespace

void *dynamic_shared() {
    return run.shared.data();
}
void seed_order(uint64_t seed) {
    run.random = seed;
}

uint64_t meet(meeting kind, unsigned mask, uint64_t value, int parameter) {
    int at = run.current, first = at / WARP_LANES * WARP_LANES;
    thread &t = run.threads[at];
    if (kind == BARRIER) {
        wait(AT_BARRIER);
        return 0;
    }
    t.kind = kind;
    t.mask = mask;
    t.value = value;
    t.parameter = parameter;
    t.now = IN_WARP;
    if (!(mask >> (at - first) & 1))
        complain("a lane meets under a mask without itself", at);
    else if (all_here(at, first, mask))
        conclude(first, mask);
    // a lane that completes the meeting goes on at once, the others when it is their turn
    if (t.now == IN_WARP || run.failed) wait(IN_WARP);
    return t.result;
}

bool run_blocks(const shape &launch, const std::function<void()> &body) {
    running = launch;
    run.body = &body;
    run.n_threads = (int)(launch.block.x * launch.block.y * launch.block.z);
    run.n_warps = (run.n_threads + WARP_LANES - 1) / WARP_LANES;
    run.failed = false;
    run.shared.resize(launch.shared_bytes + 1);
    uint64_t n = (uint64_t)launch.grid.x * launch.grid.y * launch.grid.z;
    order blocks(n);
    for (uint64_t i = 0; i < n && !run.failed; ++i) {
        uint64_t at = blocks.at(i);
        block_index.x = (unsigned)(at % launch.grid.x);
        block_index.y = (unsigned)(at / launch.grid.x % launch.grid.y);
        block_index.z = (unsigned)(at / launch.grid.x / launch.grid.y);
        run_block();
    }
    if (run.failed) { // threads that wait stay where they are, with their stacks
        run.free_workers.clear();
        for (auto &w : run.workers) static_cast<void>(w.release());
        run.workers.clear();
    }
    return !run.failed;
}

} // namespace emulation
