/* Assertions of a generated model that warn (Modelica language specification 3.6, section 8.3.7), for pl_model.warning.
 *
 * Those that hold always are looked at where steps end, as errors are, and told where they begin not to hold. Those of
 * when-clauses are written down by the event (pliant_events.h). A model includes it once, behind its instance `model`,
 * its function warnings_hold and its messages, with the numbers that say how many there are (PL_N_WARNINGS, ...).
 */
#ifndef PLIANT_WARNINGS_H
#define PLIANT_WARNINGS_H

#include "pliant_generated.h"

#if PL_N_WARNINGS
/* What does not hold at (t, x, u), and did before. An assertion that cannot be evaluated says nothing. */
static void warnings_look(model *m, pl_real t, const pl_real *x, const pl_real *u) {
    int holds[PL_N_WARNINGS];
    const int error = m->error; /* of what went wrong before */
    const pl_status status = warnings_hold(m, t, x, u, holds);
    m->error = error;
    for (int k = 0; status == PL_OK && k < PL_N_WARNINGS; k++)
        m->unmet[k] = (int8_t)(holds[k] ? 0 : m->unmet[k] ? m->unmet[k] : 2);
}

static const char *warning_of(model *m, pl_real t, const pl_real *x, const pl_real *u, int k) {
#if PL_WARNING_MESSAGES
    const int error = m->error;
    pl_text s = {m->warning, sizeof m->warning, 0};
    m->warning[0] = 0;
    const int made = warning_text(m, t, x, u, k, &s);
    m->error = error;
    if (made) return m->warning;
#endif
    (void)m, (void)t, (void)x, (void)u;
    return message[PL_WARNING_TEXT + k];
}
#endif

static const char *model_warning(void *self, pl_real t, const pl_real *x, const pl_real *u, int what) {
    model *m = self;
    (void)t, (void)x, (void)u, (void)what;
#if PL_N_WARNINGS
    if (what == PL_TELL_START) memset(m->unmet, 0, sizeof m->unmet);
    if (what != PL_TELL_REST) warnings_look(m, t, x, u);
#endif
#if PL_TOLD_AT_EVENTS
    if (m->told_next < m->told_used) {
        const char *text = m->told + m->told_next;
        m->told_next += (int)strlen(text) + 1;
        if (m->told_used == (int)sizeof m->told) m->told_next = text[0] ? m->told_next : m->told_used;
        if (text[0]) return text;
    }
    m->told_next = m->told_used = 0;
#endif
#if PL_N_WARNINGS
    for (int k = 0; k < PL_N_WARNINGS; k++)
        if (m->unmet[k] == 2) {
            m->unmet[k] = 1;
            return warning_of(m, t, x, u, k);
        }
#endif
    return NULL;
}

#endif
