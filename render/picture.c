#include "render/picture.h"

#include <stdlib.h>

#include "base/file.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STBI_WRITE_NO_STDIO
#include <stb_image_write.h>
#pragma GCC diagnostic pop

lud_status lud_picture_write(const char *path, const uint32_t *pixels, int width, int height, int pitch,
                             lud_error *error) {
    uint8_t *rgb = malloc(3 * (size_t)width * (size_t)height), *out = rgb;
    if (!rgb) return lud_fail(error, LUD_ERROR_MEMORY, "%s: out of memory for a picture", path);
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
    lud_status status = png ? lud_file_write(path, png, (size_t)n_bytes, error)
                            : lud_fail(error, LUD_ERROR_MEMORY, "%s: out of memory for a picture", path);
    free(png);
    free(rgb);
    return status;
}
