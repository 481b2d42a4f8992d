#include "base/number.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int lud_number_integer(const char *text, const char **end, int64_t *value) {
    const bool negative = *text == '-';
    const char *digits = text + (*text == '-' || *text == '+');
    int base = 10;
    if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'o')) {
        base = digits[1] == 'x' ? 16 : 8;
        digits += 2;
    }
    *end = text;
    if (!isxdigit((unsigned char)*digits)) return 0;
    char *stop;
    errno = 0;
    const unsigned long long magnitude = strtoull(digits, &stop, base);
    if (stop == digits) return 0;
    *end = stop;
    if (errno == ERANGE || magnitude > (unsigned long long)INT64_MAX) return -1;
    *value = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return 1;
}

/* Whether some digit of the mantissa is not 0. */
static bool has_value(const char *text, const char *end) {
    for (; text < end && *text != 'e' && *text != 'E'; text++)
        if (*text >= '1' && *text <= '9') return true;
    return false;
}

/* Behind a decimal number; `text` where none begins. */
static const char *skip_decimal(const char *text) {
    const char *c = text + (*text == '-' || *text == '+');
    bool digits = false;
    while (isdigit((unsigned char)*c)) c++, digits = true;
    if (*c == '.') c++;
    while (isdigit((unsigned char)*c)) c++, digits = true;
    if (!digits) return text;
    if (*c != 'e' && *c != 'E') return c;
    const char *exponent = c + 1;
    if (*exponent == '-' || *exponent == '+') exponent++;
    if (!isdigit((unsigned char)*exponent)) return c;
    while (isdigit((unsigned char)*exponent)) exponent++;
    return exponent;
}

bool lud_number_real(const char *text, const char **end, double *value) {
    int64_t integer;
    const char *decimal = skip_decimal(text);
    if (lud_number_integer(text, end, &integer) > 0 && *end >= decimal) {
        *value = (double)integer;
        return true;
    }
    *end = text;
    if (decimal == text) return false;
    const double read = strtod(text, NULL);
    if (!isfinite(read) || (read == 0.0 && has_value(text, decimal))) return false;
    *end = decimal;
    *value = read;
    return true;
}

bool lud_number_memory(const char *text, const char **end, double *gibibytes) {
    static const char units[] = "KMGT";
    static const double size[] = {0x1p-20, 0x1p-10, 1.0, 0x1p10};
    if (!lud_number_real(text, end, gibibytes)) return false;
    const char *unit = *end + (**end == ' ');
    const char *known = *unit ? strchr(units, toupper((unsigned char)*unit)) : NULL;
    if (!known) return true;
    *gibibytes *= size[known - units];
    *end = unit + 1;
    if (known[0] == *unit && unit[1] == 'i' && unit[2] == 'B') *end = unit + 3;
    return true;
}

void lud_number_write(double value, char text[LUD_NUMBER_BYTES]) {
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, LUD_NUMBER_BYTES, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
}
