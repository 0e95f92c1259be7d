/* Texts in memory of a fixed size: what String(...) of Modelica writes, part by part.
 *
 * A text ends where its memory does; `used` counts on, so that one that is cut off can be told from one that is complete.
 * Numbers are written as C's printf does, with a point whatever the language of the process (Modelica language
 * specification 3.6, section 3.7.1.1).
 */
#ifndef PLIANT_TEXTS_H
#define PLIANT_TEXTS_H

#include "pliant_generated.h"
#include <locale.h>
#include <stdio.h>

#define PL_TEXT_ROOM   1000 /* of a message, or of the texts that one call is given */
#define PL_TEXT_NUMBER 512  /* the longest number */

typedef struct pl_text {
    char *to;
    size_t room, used; /* used >= room: it is cut off */
} pl_text;

static PL_UNUSED void pl_text_put(pl_text *s, const char *part) {
    for (; *part; part++, s->used++)
        if (s->used + 1 < s->room) s->to[s->used] = *part;
    if (s->room > 0) s->to[s->used < s->room ? s->used : s->room - 1] = 0;
}

/* The next text in the same memory begins here. */
static PL_UNUSED const char *pl_text_begin(pl_text *s) {
    if (s->used >= s->room) return "";
    s->to[s->used] = 0;
    return s->to + s->used;
}

static PL_UNUSED void pl_text_end(pl_text *s) {
    s->used++;
}

static PL_UNUSED int pl_text_count(double x) {
    return x >= 1.0 ? (int)(x < PL_TEXT_NUMBER - 20 ? x : PL_TEXT_NUMBER - 20) : 0;
}

static PL_UNUSED void pl_text_padded(pl_text *s, const char *part, double length, double left) {
    const int more = pl_text_count(length) - (int)strlen(part);
    if (left != 0.0) pl_text_put(s, part);
    for (int i = 0; i < more; i++) pl_text_put(s, " ");
    if (left == 0.0) pl_text_put(s, part);
}

/* The point of the process's language becomes a point. */
static PL_UNUSED void pl_text_pointed(char *part) {
    const char *point = localeconv()->decimal_point;
    const size_t n = point ? strlen(point) : 0;
    char *found = n > 0 && strcmp(point, ".") != 0 ? strstr(part, point) : NULL;
    if (!found) return;
    *found = '.';
    memmove(found + 1, found + n, strlen(found + n) + 1);
}

/* What is no number has no digits; 0: it is one. */
static PL_UNUSED const char *pl_text_odd(double x) {
    return x != x ? "nan" : x > DBL_MAX ? "inf" : x < -DBL_MAX ? "-inf" : NULL;
}

static PL_UNUSED void pl_text_real(pl_text *s, double x, double length, double left, double digits) {
    char part[PL_TEXT_NUMBER];
    const char *odd = pl_text_odd(x);
    const int shown = pl_text_count(digits);
    if (!odd) {
        snprintf(part, sizeof part, "%.*g", shown > 0 ? shown : 1, x);
        pl_text_pointed(part);
    }
    pl_text_padded(s, odd ? odd : part, length, left);
}

static PL_UNUSED void pl_text_integer(pl_text *s, double x, double length, double left) {
    char part[PL_TEXT_NUMBER];
    const char *odd = pl_text_odd(x);
    if (!odd) snprintf(part, sizeof part, "%.0f", trunc(x) + 0.0); /* no -0 */
    pl_text_padded(s, odd ? odd : part, length, left);
}

static PL_UNUSED void pl_text_boolean(pl_text *s, double x, double length, double left) {
    pl_text_padded(s, x != 0.0 ? "true" : "false", length, left);
}

static PL_UNUSED void pl_text_literal(pl_text *s, double x, double length, double left,
                                      const char *const *literal, int n) {
    if (x >= 1.0 && x <= n)
        pl_text_padded(s, literal[(int)x - 1], length, left);
    else
        pl_text_integer(s, x, length, left);
}

/* By a format of its own, such as "%6.3f"; `odd`: the format of what is no number, of a text. */
static PL_UNUSED void pl_text_formatted(pl_text *s, double x, const char *format, const char *odd) {
    char part[PL_TEXT_NUMBER];
    if (pl_text_odd(x)) {
        const char *sign = strchr(odd, '+') && !(x < 0.0) ? "+" : strchr(odd, ' ') && !(x < 0.0) ? " " : "";
        char plain[8], bare[40];
        size_t n = 0;
        for (; *odd && n + 1 < sizeof bare; odd++)
            if (*odd != '+' && *odd != ' ') bare[n++] = *odd;
        bare[n] = 0;
        snprintf(plain, sizeof plain, "%s%s", sign, pl_text_odd(x));
        snprintf(part, sizeof part, bare, plain);
    } else {
        snprintf(part, sizeof part, format, x);
        pl_text_pointed(part);
    }
    pl_text_put(s, part);
}

/* The same of a whole number: `format` is for a long long; without a sign it has 32 bits. */
static PL_UNUSED void pl_text_whole(pl_text *s, double x, const char *format, const char *odd,
                                    int is_unsigned) {
    char part[PL_TEXT_NUMBER];
    if (pl_text_odd(x)) {
        pl_text_formatted(s, x, "", odd);
        return;
    }
    const long long whole = fabs(x) < 9e18 ? (long long)x : 0;
    snprintf(part, sizeof part, format, is_unsigned ? whole & 0xffffffffLL : whole);
    pl_text_put(s, part);
}

/* One character. */
static PL_UNUSED void pl_text_character(pl_text *s, double x, const char *format) {
    char part[PL_TEXT_NUMBER];
    snprintf(part, sizeof part, format, pl_text_odd(x) ? '?' : (int)x);
    pl_text_put(s, part);
}

#endif
