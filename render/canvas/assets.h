/* Files of assets/ that are part of the program. */
#pragma once

#include <stddef.h>

typedef struct lud_asset {
    const unsigned char *bytes;
    size_t length;
} lud_asset;

lud_asset lud_asset_atlas(void); /* PNG */
lud_asset lud_asset_font(void);  /* OpenType */
