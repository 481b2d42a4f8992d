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
    {"mappo, grid", "cpu", 0x9b9b0f948ac6449f, 0x3f6b19061cbf4b58},
    {"mappo, grid, recurrent", "cpu", 0x9abf5ba28ae461ee, 0x80582554c6aefe4b},
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
    {"embeddings, rotate", "cpu", 0x615bb5e4713ec9de, 0x0fb59998cf3162dc},
    {"mappo, mlp", "cuda", 0x49b101638e4e7c3e, 0x1f3d94e875f0ab80},
    {"mappo, mlp, popart, three minibatches", "cuda", 0x1b2f05be5561355a, 0x1881817e5f48df76},
    {"mappo, mlp, plain returns, own observations", "cuda", 0x6e9473393922b0d6, 0x3ba19a6c82079366},
    {"mappo, unlike agents", "cuda", 0x156b6eb84bb3e951, 0x2b0e97bf2331c12e},
    {"mappo, words and moves", "cuda", 0x976c167c9f738f1c, 0x035cc8789a25f878},
    {"mappo, graph", "cuda", 0x7aa9e631091492f2, 0xc6536e4aff10795d},
    {"mappo, graph, recurrent", "cuda", 0x35d7ed876792c341, 0x0c28d2095d953b3a},
    {"mappo, graph, bf16", "cuda", 0x4e81f6b2c6d8e598, 0x68e095234f6e86bc},
    {"mappo, magnitude and direction", "cuda", 0x60245b34efbadef2, 0xd27cb87565d71594},
    {"mappo, magnitude with a rate of its own", "cuda", 0x00c69955e5253159, 0x6b12f16b3fe2002d},
    {"mappo, magnitude of disturbances", "cuda", 0xe21d2b1c865ae788, 0x6d377f7ee320b801},
    {"mappo, central magnitude", "cuda", 0x5c3642e4e146f30b, 0x70e394d5b61238eb},
    {"mappo, grid", "cuda", 0x2af1a87637b8a8f5, 0xb68fdbda147d3e7b},
    {"mappo, grid, recurrent", "cuda", 0x704685966c571986, 0xc232bed16b10bd6f},
    {"proof", "cuda", 0x33fb5f2e78064f8e, 0x562bc75c80301487},
    {"proof, rate of the value", "cuda", 0x4dbc3a48765ef218, 0x54b80594d361c03c},
    {"proof, stopped by divergence", "cuda", 0x3e71aa954578ebf8, 0xaf43670d29c8b0b7},
    {"proof, bf16", "cuda", 0x0aa47779898c86a6, 0x0bf8b36d146c981f},
    {"people", "cuda", 0x256cf87017959ed1, 0xb7dcd2d8ebfd32af},
    {"people, without the marginal network", "cuda", 0x923da0adf5a6c83b, 0x17af42ceea80f05b},
    {"empo, networks", "cuda", 0xa0d9a3f3e1478e9f, 0xcacd796b49e9db33},
    {"empo, all heads", "cuda", 0x80cc153cbd9a4376, 0x2af6e6f3e04d642e},
    {"empo, several steps", "cuda", 0x19c27aa08d25c617, 0x7521a2fabcb68dd8},
    {"empo, tables", "cuda", 0xeb7d30c667d14753, 0xfbfff9c62900b4fd},
    {"empo, tables in expectation", "cuda", 0x94eaf59bf1a19c37, 0x684497191573b76f},
};

#endif
