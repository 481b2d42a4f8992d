#include "learn/episodes/summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool lud_summary_format_read(const char *word, lud_summary_format *format) {
    const bool rotations = format->rotations;
    if (word[0] >= '0' && word[0] <= '9' && !strcmp(word + 1, "f"))
        *format = (lud_summary_format){.style = LUD_SUMMARY_DECIMALS, .decimals = word[0] - '0'};
    else if (!strcmp(word, "no_number"))
        *format = (lud_summary_format){.style = LUD_SUMMARY_WORDS};
    else if (!strcmp(word, "compact"))
        *format = (lud_summary_format){.style = LUD_SUMMARY_COMPACT};
    else
        return false;
    format->rotations = rotations;
    return true;
}

/* Sums of the increments, the last row's grip. */
static bool sum_hand(int64_t n, int64_t width, const double *window, double sum[LUD_HAND_NUMBERS]) {
    if (n < 1 || width < LUD_HAND_NUMBERS) return false;
    for (int j = 0; j < LUD_HAND_GRIP; j++) {
        sum[j] = 0.0;
        for (int64_t k = 0; k < n; k++) sum[j] += window[k * width + j];
    }
    sum[LUD_HAND_GRIP] = window[(n - 1) * width + LUD_HAND_GRIP];
    return true;
}

/* What is said of one number: the words for above and below 0. */
typedef struct direction {
    int number;
    const char *positive, *negative;
} direction;

/* The order of a sentence with numbers, and that of one without. */
static const direction forward = {LUD_HAND_X, "move forward", "move back"},
                       sideways = {LUD_HAND_Y, "move left", "move right"},
                       upwards = {LUD_HAND_Z, "move up", "move down"};
static const direction turns[] = {{LUD_HAND_ROLL, "tilt left", "tilt right"},
                                  {LUD_HAND_PITCH, "tilt up", "tilt down"},
                                  {LUD_HAND_YAW, "rotate counterclockwise", "rotate clockwise"}};

static double fives_of(double radians) {
    return 5.0 * nearbyint(radians * 180.0 / M_PI / 5.0);
}

static void say(lud_text *out, size_t begin, const char *words, const char *amount) {
    lud_text_append(out, "%s%s%s", out->length > begin ? " and " : "", words, amount);
}

static void say_direction(lud_text *out, size_t begin, const direction *d, const double *sum,
                          const lud_summary_format *format) {
    const double value = sum[d->number];
    const char *words = value > 0.0 ? d->positive : d->negative;
    char amount[400] = "";
    if (format->style == LUD_SUMMARY_WORDS) {
        if (value != 0.0) say(out, begin, words, "");
        return;
    }
    if (d->number >= LUD_HAND_ROLL) {
        const double degrees = fabs(fives_of(value));
        snprintf(amount, sizeof amount, " %.0f degrees", degrees);
        if (degrees > 0.0) say(out, begin, words, amount);
        return;
    }
    snprintf(amount, sizeof amount, " %.*f cm", format->decimals, fabs(value * 100.0));
    if (strtod(amount, NULL) > 0.0) say(out, begin, words, amount);
}

static void say_compact(lud_text *out, const double *sum, bool rotations) {
    lud_text_append(out, "<");
    for (int j = 0; j < (rotations ? LUD_HAND_GRIP : LUD_HAND_ROLL); j++) {
        const double number = j < LUD_HAND_ROLL ? nearbyint(sum[j] * 100.0) : fives_of(sum[j]);
        lud_text_append(out, "%+03.0f ", number + 0.0); /* no minus before a zero */
    }
    lud_text_append(out, "%d>", sum[LUD_HAND_GRIP] >= 0.5);
}

bool lud_summary_hand(int64_t n, int64_t width, const double *window, const lud_summary_format *format,
                      lud_text *out) {
    double sum[LUD_HAND_NUMBERS];
    const size_t begin = out->length;
    if (!sum_hand(n, width, window, sum)) return false;
    if (format->style == LUD_SUMMARY_COMPACT) {
        say_compact(out, sum, format->rotations);
        return true;
    }
    const bool words = format->style == LUD_SUMMARY_WORDS;
    say_direction(out, begin, &forward, sum, format);
    say_direction(out, begin, words ? &sideways : &upwards, sum, format);
    say_direction(out, begin, words ? &upwards : &sideways, sum, format);
    for (int k = 0; k < 3 && format->rotations; k++) say_direction(out, begin, turns + k, sum, format);
    say(out, begin, sum[LUD_HAND_GRIP] > 0.5 ? "open gripper" : "close gripper", "");
    return true;
}

bool lud_summary_hand_is_idle(int64_t n, int64_t width, const double *window, bool rotations) {
    double sum[LUD_HAND_NUMBERS];
    if (!sum_hand(n, width, window, sum)) return false;
    const double moved = sqrt(sum[LUD_HAND_X] * sum[LUD_HAND_X] + sum[LUD_HAND_Y] * sum[LUD_HAND_Y] +
                              sum[LUD_HAND_Z] * sum[LUD_HAND_Z]);
    bool idle = moved * 100.0 < 1.0;
    for (int j = LUD_HAND_ROLL; j < LUD_HAND_GRIP && rotations; j++)
        idle = idle && fabs(sum[j]) * 180.0 / M_PI < 10.0;
    return idle;
}

bool lud_summary_choices(int64_t n, const int32_t *choices, const lud_action_space *space, lud_text *out) {
    const size_t begin = out->length;
    for (int64_t i = 0; i < n; i++) {
        const int32_t choice = choices[i];
        if (choice < 0) continue;
        bool first = true;
        int64_t count = 0;
        for (int64_t k = 0; k < i && first; k++) first = choices[k] != choice;
        if (!first) continue;
        for (int64_t k = i; k < n; k++) count += choices[k] == choice;
        if (out->length > begin) lud_text_append(out, ", ");
        if (space->names && choice < space->n_discrete)
            lud_text_append(out, "%s %lld", space->names[choice], (long long)count);
        else
            lud_text_append(out, "action %d: %lld", (int)choice, (long long)count);
    }
    return out->length > begin;
}

bool lud_summary_choices_are_idle(int64_t n, const int32_t *choices, int32_t idle) {
    bool all = n > 0 && idle >= 0;
    for (int64_t i = 0; i < n && all; i++) all = choices[i] == idle;
    return all;
}
