"""Writes learn/language/tokenizer/unicode_ranges.h:  python3 tests/golden/unicode_ranges.py > learn/language/tokenizer/unicode_ranges.h"""
import unicodedata

SPACES = [(9, 13), (0x20, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A),
          (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)]


def ranges(first_letter):
    found = []
    for c in range(0x110000):
        if unicodedata.category(chr(c))[0] != first_letter:
            continue
        if found and found[-1][1] == c - 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return found


version = unicodedata.unidata_version.split(".")[0]
print(f"""/* Which characters are letters (general category L), numbers (N) and white space (property White_Space), as
 * ranges {{first, last}} in ascending order. Unicode {version}; made by tests/golden/unicode_ranges.py. */
#ifndef LUDUS_LEARN_LANGUAGE_UNICODE_RANGES_H
#define LUDUS_LEARN_LANGUAGE_UNICODE_RANGES_H

#include <stdint.h>
""")
for name, table in (("letters", ranges("L")), ("numbers", ranges("N")), ("spaces", SPACES)):
    print(f"enum {{ LUD_UNICODE_{name.upper()} = {len(table)} }};")
    print("// clang-format off")
    print(f"static const uint32_t lud_unicode_{name}[LUD_UNICODE_{name.upper()}][2] = {{")
    for i in range(0, len(table), 6):
        print("    " + " ".join(f"{{{a:#x}, {b:#x}}}," for a, b in table[i:i + 6]))
    print("};\n// clang-format on\n")
print("#endif")
