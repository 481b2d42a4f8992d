#include "render/canvas/picture.h"

#include <setjmp.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"

/* stb_image_write goes on with a null pointer where memory runs out: what it takes lies in an arena instead,
 * and when that is out the picture is given up. */
static _Thread_local struct {
    lud_arena *arena;
    jmp_buf out_of_memory;
} writing;

static void *take(size_t bytes) {
    void *piece = lud_arena_take(writing.arena, bytes);
    if (!piece) longjmp(writing.out_of_memory, 1);
    return piece;
}

static void *take_larger(const void *old, size_t old_bytes, size_t bytes) {
    void *piece = take(bytes);
    if (old) memcpy(piece, old, old_bytes);
    return piece;
}

#define STBIW_MALLOC(bytes)                        take((size_t)(bytes))
#define STBIW_REALLOC_SIZED(old, old_bytes, bytes) take_larger(old, (size_t)(old_bytes), (size_t)(bytes))
#define STBIW_FREE(piece)                          ((void)(piece))

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STBI_WRITE_NO_STDIO
#include <stb_image_write.h>
#pragma GCC diagnostic pop

static lud_status write_in(lud_arena *arena, const char *path, const uint32_t *pixels, int width, int height,
                           int pitch, lud_error *error) {
    writing.arena = arena;
    if (setjmp(writing.out_of_memory))
        return lud_fail(error, LUD_ERROR_MEMORY, "%s: out of memory for a picture", path);
    uint8_t *rgb = take(3 * (size_t)width * (size_t)height), *out = rgb;
    for (int y = 0; y < height; y++) {
        const uint32_t *row = pixels + (size_t)y * (size_t)(pitch / 4);
        for (int x = 0; x < width; x++) {
            *out++ = (uint8_t)(row[x] >> 16);
            *out++ = (uint8_t)(row[x] >> 8);
            *out++ = (uint8_t)row[x];
        }
    }
    int n_bytes;
    unsigned char *png = stbi_write_png_to_mem(rgb, 3 * width, width, height, 3, &n_bytes);
    return lud_file_write(path, png, (size_t)n_bytes, error);
}

lud_status lud_picture_check_path(const char *path, lud_error *error) {
    const size_t length = strlen(path);
    if (length > 4 && !strcmp(path + length - 4, ".png")) return LUD_OK;
    return lud_invalid(error, "%s: a picture is written as .png; end the name with that", path);
}

lud_status lud_picture_write(const char *path, const uint32_t *pixels, int width, int height, int pitch,
                             lud_error *error) {
    LUD_TRY(lud_picture_check_path(path, error));
    lud_arena *arena = lud_arena_create(0);
    if (!arena) return lud_fail(error, LUD_ERROR_MEMORY, "%s: out of memory for a picture", path);
    lud_status status = write_in(arena, path, pixels, width, height, pitch, error);
    lud_arena_destroy(arena);
    return status;
}
