// Blocks one after another, in a drawn order; the threads of a block are fibers. A thread runs until it meets
// others; the warp that goes on is drawn, and so is the order of its lanes, so that a missing barrier changes
// results. Who waits or ends hands over to the next lane of the warp itself, the last one to the scheduler.
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
    "    popq %rcx\n    jmpq *%rcx\n" // no `ret`: the processor would expect it to go back to its own call
    ".size emulation_switch, . - emulation_switch\n");
#endif

void arrive(const context *here); // tells the address sanitizer where the thread runs now

const context *left; // by the last switch

void switch_context(context *from, context *to) {
    left = from;
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
};

// ---- drawn orders

uint64_t random_state;

uint64_t next_random() { // Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
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

// The numbers below n in a drawn order, without a list: start, start + step, ... modulo n, step without
// divisor of n.
struct order {
    uint64_t n, step, now;
    explicit order(uint64_t n_ = 0) : n(n_), step(1), now(n_ > 1 ? below(n_) : 0) {
        if (n < 3) return;
        do step = 1 + below(n - 1);
        while (common_divisor(step, n) != 1);
    }
    uint64_t next() {
        uint64_t value = now;
        now += step;
        if (now >= n) now -= n;
        return value;
    }
};

// ---- the block that runs

struct thread {
    worker *on;   // null before it starts and after it ends
    meeting kind; // what it waits in
    unsigned mask;
    int parameter;
    uint64_t value, result;
};

// One bit a lane; every lane that exists is in exactly one of the four.
struct warp {
    unsigned runnable, meeting, at_barrier, done;
};

struct block_run {
    context scheduler;
    const std::function<void()> *body;
    thread threads[MAX_THREADS];
    warp warps[MAX_THREADS / WARP_LANES];
    int n_threads, n_warps, current;
    bool failed;
    std::vector<std::unique_ptr<worker>> workers, abandoned;
    std::vector<worker *> free_workers;
    std::vector<char> shared;
    struct {
        order lanes;
        int warp, n_lanes, taken;
    } turn; // of the warp that goes on: every lane once
};

block_run run;

void arrive(const context *here) {
#ifdef ADDRESS_SANITIZER
    const void *bottom = nullptr;
    size_t bytes = 0;
    __sanitizer_finish_switch_fiber(here->fake_stack, &bottom, &bytes);
    if (left == &run.scheduler) {
        run.scheduler.bottom = bottom;
        run.scheduler.bytes = bytes;
    }
#else
    (void)here;
#endif
}

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
    thread_index = size.x == (unsigned)run.n_threads
                       ? dim3(t, 0, 0)
                       : dim3(t % size.x, t / size.x % size.y, t / size.x / size.y);
}

void go_on(context *from);

void end_thread(int at) {
    thread &t = run.threads[at];
    run.free_workers.push_back(t.on);
    t.on = nullptr;
    warp &own = run.warps[at / WARP_LANES];
    own.runnable &= ~(1u << at % WARP_LANES);
    own.done |= 1u << at % WARP_LANES;
}

void work(worker *self) {
    arrive(&self->own);
    for (;;) {
        (*run.body)();
        end_thread(run.current);
        go_on(&self->own);
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

// The next thread of the warp that can run; -1 when all have had their turn.
int next_thread() {
    while (run.turn.taken < run.turn.n_lanes && !run.failed) {
        int lane = (int)run.turn.lanes.next();
        ++run.turn.taken;
        if (run.warps[run.turn.warp].runnable >> lane & 1) return run.turn.warp * WARP_LANES + lane;
    }
    return -1;
}

// Hands over to the next thread of the warp, or to the scheduler; returns when `from` is to run again.
void go_on(context *from) {
    int at = next_thread();
    if (at < 0) {
        if (from != &run.scheduler) switch_context(from, &run.scheduler);
        return;
    }
    thread &t = run.threads[at];
    place(at);
    if (!t.on) {
        if (run.free_workers.empty()) run.free_workers.push_back(new_worker());
        t.on = run.free_workers.back();
        run.free_workers.pop_back();
        start_of_work = t.on;
    }
    if (&t.on->own != from) switch_context(from, &t.on->own);
}

// The running thread gives way until it is runnable again.
void wait() {
    go_on(&run.threads[run.current].on->own);
}

// The meeting of the lanes in `mask` is complete: gives each its result.
void conclude(thread *lanes, unsigned mask) {
    meeting kind = lanes[__builtin_ctz(mask)].kind;
    unsigned votes = 0;
    if (kind == BALLOT)
        for (unsigned rest = mask; rest; rest &= rest - 1)
            if (lanes[__builtin_ctz(rest)].value) votes |= rest & -rest;
    for (unsigned rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest), from = lane;
        thread &t = lanes[lane];
        switch (kind) {
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
        if (from < 0 || from >= WARP_LANES || !(mask >> from & 1)) {
            complain("a shuffle reads a lane that does not take part", run.current);
            from = lane;
        }
        t.result = kind == BALLOT ? votes : lanes[from].value;
    }
}

bool finish_barrier() {
    unsigned meeting = 0, done = 0;
    for (int w = 0; w < run.n_warps; ++w) {
        meeting |= run.warps[w].meeting;
        done |= run.warps[w].done;
    }
    if (meeting)
        complain("a lane waits for others of its warp that do not come", 0);
    else if (done)
        complain("__syncthreads is not reached by all threads", 0);
    if (run.failed) return false;
    for (int w = 0; w < run.n_warps; ++w) {
        run.warps[w].runnable = run.warps[w].at_barrier;
        run.warps[w].at_barrier = 0;
    }
    return true;
}

// Every runnable lane once, in a drawn order.
void run_warp(int number) {
    int left_over = run.n_threads - number * WARP_LANES;
    int lanes = left_over < WARP_LANES ? left_over : WARP_LANES;
    run.turn = {order((uint64_t)lanes), number, lanes, 0};
    go_on(&run.scheduler);
}

void run_block() {
    for (int i = 0; i < run.n_threads; ++i) run.threads[i].on = nullptr;
    for (int w = 0; w < run.n_warps; ++w) {
        int lanes = run.n_threads - w * WARP_LANES;
        run.warps[w] = {lanes < WARP_LANES ? (1u << lanes) - 1 : 0xffffffffu, 0, 0, 0};
    }
    if (__start_emulated_shared)
        spoil(__start_emulated_shared, (size_t)(__stop_emulated_shared - __start_emulated_shared));
    if (running.shared_bytes > 0) spoil(run.shared.data(), running.shared_bytes);
    for (bool all_done = false; !all_done && !run.failed;) {
        bool moved = false;
        order warps((uint64_t)run.n_warps);
        for (int i = 0; i < run.n_warps && !run.failed; ++i) {
            int number = (int)warps.next();
            while (run.warps[number].runnable && !run.failed) {
                run_warp(number);
                moved = true;
                if (next_random() % 4 == 0) break; // a warp may run far ahead of the others, or not
            }
        }
        all_done = true;
        for (int w = 0; w < run.n_warps; ++w)
            all_done = all_done && !(run.warps[w].runnable | run.warps[w].meeting | run.warps[w].at_barrier);
        if (!moved && !all_done && !run.failed) finish_barrier();
    }
}

} // namespace

void *dynamic_shared() {
    return run.shared.data();
}
void seed_order(uint64_t seed) {
    random_state = seed;
}

uint64_t meet(meeting kind, unsigned mask, uint64_t value, int parameter) {
    int at = run.current, lane = at % WARP_LANES;
    thread &t = run.threads[at], *lanes = &t - lane;
    warp &w = run.warps[at / WARP_LANES];
    unsigned own = 1u << lane;
    w.runnable &= ~own;
    if (kind == BARRIER) {
        w.at_barrier |= own;
        wait();
        return 0;
    }
    t.kind = kind;
    t.mask = mask;
    t.value = value;
    t.parameter = parameter;
    w.meeting |= own;
    int exist = run.n_threads - (at - lane);
    if (!(mask & own))
        complain("a lane meets under a mask without itself", at);
    else if (mask & w.done || (exist < WARP_LANES && mask >> exist))
        complain("a lane of the mask does not exist or has ended", at);
    else if ((w.meeting & mask) == mask) {
        for (unsigned rest = mask; rest; rest &= rest - 1) {
            const thread &other = lanes[__builtin_ctz(rest)];
            if (other.kind != kind || other.mask != mask)
                complain("lanes of one warp meet in different operations", at);
        }
        if (!run.failed) conclude(lanes, mask);
        w.meeting &= ~mask;
        w.runnable |= mask;
        if (!run.failed) return t.result; // who comes last goes on at once
    }
    wait();
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
        uint64_t at = blocks.next();
        block_index.x = (unsigned)(at % launch.grid.x);
        block_index.y = (unsigned)(at / launch.grid.x % launch.grid.y);
        block_index.z = (unsigned)(at / launch.grid.x / launch.grid.y);
        run_block();
    }
    if (run.failed) { // threads that wait stay where they are, with their stacks
        run.free_workers.clear();
        for (auto &w : run.workers) run.abandoned.push_back(std::move(w));
        run.workers.clear();
    }
    return !run.failed;
}

} // namespace emulation
