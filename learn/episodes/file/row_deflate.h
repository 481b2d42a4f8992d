/* Deflate (RFC 1951, in the frame of RFC 1950) for arrays whose rows change little from one to the next, as
 * recorded frames do: what a row shares with the row before is one match at the distance of a row, the rest
 * are literals, with Huffman codes made for the array (RFC 1951, 3.2.7). It compares instead of searching and
 * is several times as fast as a general compressor; every reader of deflate reads it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Room that a call works in, uint16_t[lud_row_deflate_room(n)]. */
size_t lud_row_deflate_room(size_t n);
/* Compresses from[n], rows of row_bytes (at least 1; the last one may be cut), into to[capacity]. Returns the
 * number of bytes written; 0 where they would be more than half of n, or more than capacity, or where a row
 * is longer than deflate looks back (32 KiB): rows that differ too much are for another compressor. */
size_t lud_row_deflate(const uint8_t *from, size_t n, size_t row_bytes, uint16_t *room, uint8_t *to,
                       size_t capacity);

/* The same for n_planes arrays behind each other, such as the bytes of numbers that HDF5's shuffle has put
 * apart: each has codes of its own, and those that are noise, as the lower bytes of real numbers often are,
 * stand there as they are. row_bytes: of a row of all arrays together; n_planes at least 2. Returns 0 where
 * the result would be more than capacity. */
size_t lud_plane_deflate(const uint8_t *from, size_t n, size_t row_bytes, int n_planes, uint16_t *room,
                         uint8_t *to, size_t capacity);
