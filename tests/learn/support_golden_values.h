/* Known values of support_golden.c. LUDUS_GOLDEN_PRINT=1 makes its tests print rows for this table. */
#ifndef LUDUS_TESTS_LEARN_SUPPORT_GOLDEN_VALUES_H
#define LUDUS_TESTS_LEARN_SUPPORT_GOLDEN_VALUES_H

#include <stdint.h>

/* Of a case on a device. */
typedef struct golden_value {
    const char *name, *device;
    uint64_t checkpoint, metrics;
} golden_value;

static const golden_value values[] = {
    {"mappo, mlp", "cpu", 0x66940a3d3e344223, 0xa71289a2f0623315},
    {"mappo, mlp, popart, three minibatches", "cpu", 0xce560dd3cfda3f4c, 0xff9308b53a605e8e},
    {"mappo, mlp, plain returns, own observations", "cpu", 0xcb363342e146774b, 0x50bb16f48256104a},
    {"mappo, unlike agents", "cpu", 0x813be6bf539017af, 0x4c1e97b1fe785fb4},
    {"mappo, words and moves", "cpu", 0xb461cf73be3ce016, 0xbc2c7e2308b705c3},
    {"mappo, graph", "cpu", 0x691a5e5f8d746a57, 0xb9e57fdc10a7e34b},
    {"mappo, graph, recurrent", "cpu", 0xd7d5e047e49947fd, 0x36e8b126bad5d66d},
    {"mappo, graph, recurrent, continuous", "cpu", 0x4db50bcdd9dfcc31, 0xa8afddcc3c1a31cf},
    {"mappo, graph, bf16", "cpu", 0xf343cd6fdf68f5cd, 0x0416f368834ddd9b},
    {"mappo, magnitude and direction", "cpu", 0x104a14db727efb13, 0xf1f73057d509d43d},
    {"mappo, magnitude with a rate of its own", "cpu", 0x6218910417290bda, 0x212c23468017cec1},
    {"mappo, magnitude of disturbances", "cpu", 0xa707bb41d1145090, 0x71b2e0cd6e72817e},
    {"mappo, central magnitude", "cpu", 0x3cb297dbdf85455c, 0xbdb10d299bcfd5e3},
    {"mappo, base controller", "cpu", 0x39cd98bf6abdba15, 0x38c3a8780b7f139b},
    {"mappo, grid", "cpu", 0x9b9b0f948ac6449f, 0x3342ca2e4500edde},
    {"mappo, grid, recurrent", "cpu", 0x9abf5ba28ae461ee, 0x23d1f59a1c5b1631},
    {"proof", "cpu", 0x9b5256f5ce3cdbc3, 0x6181a27b0230670c},
    {"proof, rate of the value", "cpu", 0xa82328a833740150, 0x7ef6dd286068f2e7},
    {"proof, stopped by divergence", "cpu", 0x589966f36dabb799, 0x65bd7d9cc77afa6e},
    {"proof, look-ahead", "cpu", 0xed841e48fb2549c8, 0x3d4da69c30398cc5},
    {"proof, bf16", "cpu", 0xc2195f564e1b55e6, 0xa2beaea3043bc15c},
    {"people", "cpu", 0x049b8cc4b06c2169, 0x095c11f660bd2779},
    {"people, without the marginal network", "cpu", 0xf401f97e60d8b3a1, 0xabe88b1120011dda},
    {"empo, networks", "cpu", 0x5de3d55493be2769, 0x185596682234b18b},
    {"empo, all heads", "cpu", 0xd76f3de606f8254c, 0x561695a419ade569},
    {"empo, several steps", "cpu", 0x5be3066b2e6a304a, 0x8f09b847c0886a1e},
    {"empo, in hindsight", "cpu", 0x896ecc3c8279698c, 0x80028cbabb0a2362},
    {"empo, curious", "cpu", 0x739ccb97660220bd, 0x4ee3bd1b377085d1},
    {"empo, in expectation, by tree search", "cpu", 0xd917981e1c84f085, 0xb6cf12219365427c},
    {"empo, tables", "cpu", 0xeb7d30c667d14753, 0xfbfff9c62900b4fd},
    {"empo, tables in expectation", "cpu", 0x564348180566f9e3, 0xa249a4f391ba8c01},
    {"embeddings, complex", "cpu", 0xaf5334cbe088d462, 0xcbaa63cfe70509a4},
    {"embeddings, rotate", "cpu", 0x0e8911c9b0864450, 0x7c49b31bf2d0d5ed},
};

#endif
