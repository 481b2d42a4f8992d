/* Small trainings of every learner whose results are known to the last bit: what a change of shape must not
 * change.
 *
 * What is compared is a run's checkpoint and its metrics, as lud_train writes them, and (on the CPU) what its
 * agents do in a few steps of others' environments. Every tensor's bytes are hashed (XXH3), the hashes are
 * sorted and hashed again, so that a tensor may get another name or place, and nothing else; columns of
 * metrics.csv likewise, as they are printed. Seconds are left out.
 *
 * Bytes are those of one instruction set, AVX2, in Ludus (LUDUS_CPU) and in oneDNN (ONEDNN_MAX_CPU_ISA), with
 * any number of threads, optimised or not, compiled by GCC or clang. What they rest on beside the code:
 * oneDNN 2.6 cuts products and convolutions by their shapes and, large ones, by the sizes of caches (the ones
 * here are small, and each runs on one thread; emulated processors of other makers and caches gave the same
 * bytes); sine, exponential and their like are those of glibc 2.36; distances of embeddings are summed as the
 * compiler vectorises, so that case has three dimensions, fewer than a vector. After a change of these
 * libraries a difference may be theirs: look at it before the values are renewed.
 *
 * Initial weights are drawn by the names of parameters: renaming one changes what is trained.
 *
 * The environment variable LUDUS_GOLDEN_PRINT=1 prints the rows of the table of known values, and what they
 * are made of, instead of comparing: two such listings tell which tensor differs. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A test for every case that has a known value on `device` ("cpu" or "cuda"; null: there is none): it trains
 * with so many threads and compares; where it fails it has printed what the training is made of. One test
 * that skips, with a message, where there is no device, no AVX2, or oneDNN cannot be held to it. Called first
 * in main. Into tests[SUPPORT_GOLDEN_TESTS] at most, of all calls together; returns how many. */
enum { SUPPORT_GOLDEN_TESTS = 256 };
int support_golden_tests(const char *device, int n_threads, struct CMUnitTest *tests);
