#include "render/canvas/assets.h"

/* The assembler reads the file into the read-only data of this object. */
#define EMBED(name, file)                                                                                    \
    __asm__(".pushsection .rodata\n"                                                                         \
            ".balign 16\n"                                                                                   \
            ".globl lud_embedded_" #name "_begin\n"                                                          \
            "lud_embedded_" #name "_begin:\n"                                                                \
            ".incbin \"" LUDUS_ASSET_FOLDER file "\"\n"                                                      \
            ".globl lud_embedded_" #name "_end\n"                                                            \
            "lud_embedded_" #name "_end:\n"                                                                  \
            ".byte 0\n"                                                                                      \
            ".popsection\n");                                                                                \
    extern const unsigned char lud_embedded_##name##_begin[], lud_embedded_##name##_end[];                   \
    lud_asset lud_asset_##name(void) {                                                                       \
        lud_asset asset = {lud_embedded_##name##_begin,                                                      \
                           (size_t)(lud_embedded_##name##_end - lud_embedded_##name##_begin)};               \
        return asset;                                                                                        \
    }

EMBED(atlas, "atlas.png")
EMBED(font, "Inter-Regular.otf")
