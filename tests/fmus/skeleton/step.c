/* A co-simulation step: the classical Runge-Kutta method over the equations of model exchange, with events.
   A sign change of an indicator is located by bisection of the step, and handled here unless the importer takes events. */
#include "fmu.h"
#include "hostile.h"
#include <math.h>
#include <string.h>

enum { STATES = 32, INDICATORS = 8, BISECTIONS = 60, EVENT_ITERATIONS = 100 };

/* Inputs as polynomials of time (FMI 2, setRealInputDerivatives). */
static void inputs_at(fmu *m, double time, const double *values) {
    double h = time - m->slopes_from;
    if (!m->slopes_used) return;
    for (uint32_t i = 0; i < model.variable_count && i < VARIABLES; i++) {
        if (model.variables[i].role != INPUT || model.variables[i].type != FLOAT64) continue;
        double power = 1.0, value = values[i];
        for (int k = 0; k < ORDERS; k++) {
            power *= h / (k + 1);
            value += m->slopes[i][k] * power;
        }
        *(double *)((char *)m->data + model.variables[i].offset) = value;
    }
}

static int rate(fmu *m, double time, const double *x, size_t n, const double *inputs, double *out) {
    m->time = time;
    memcpy(m->data, x, n * sizeof *x);
    inputs_at(m, time, inputs);
    return fmu_derivatives(m, out);
}

static int advance(fmu *m, double from, double h, const double *x, size_t n, const double *inputs) {
    double k[4][STATES] = {{0}}, y[STATES];
    static const double at[4] = {0.0, 0.5, 0.5, 1.0};
    int status = FMU_OK;
    for (int s = 0; s < 4 && status <= FMU_WARNING; s++) {
        for (size_t i = 0; i < n; i++) y[i] = x[i] + (s ? at[s] * h * k[s - 1][i] : 0.0);
        status = rate(m, from + at[s] * h, y, n, inputs, k[s]);
    }
    for (size_t i = 0; i < n; i++)
        m->data[i] = x[i] + h / 6.0 * (k[0][i] + 2.0 * k[1][i] + 2.0 * k[2][i] + k[3][i]);
    m->time = from + h;
    inputs_at(m, m->time, inputs);
    return status;
}

static bool crossed(const double *before, const double *after) {
    for (size_t i = 0; i < model.indicator_count; i++) {
        if ((before[i] > 0.0) != (after[i] > 0.0)) return true;
    }
    return false;
}

/* One internal step of at most h; *event: it ends at a state event. */
static int internal_step(fmu *m, double h, const double *inputs, bool *event) {
    double x[STATES], before[INDICATORS] = {0}, after[INDICATORS] = {0}, from = m->time;
    size_t n = fmu_states(m);
    memcpy(x, m->data, n * sizeof *x);
    int status = fmu_indicators(m, before);
    if (status <= FMU_WARNING) status = advance(m, from, h, x, n, inputs);
    if (status <= FMU_WARNING) status = fmu_indicators(m, after);
    *event = crossed(before, after);
    if (*event) {
        double low = 0.0, high = h;
        for (int k = 0; k < BISECTIONS && status <= FMU_WARNING; k++) {
            double middle = 0.5 * (low + high);
            status = advance(m, from, middle, x, n, inputs);
            if (status <= FMU_WARNING) status = fmu_indicators(m, after);
            if (crossed(before, after))
                high = middle;
            else
                low = middle;
        }
        if (status <= FMU_WARNING) status = advance(m, from, high, x, n, inputs);
    }
    return status;
}

static int handle_events(fmu *m) {
    fmu_event event = {.again = true};
    int status = FMU_OK;
    for (int k = 0; event.again && status <= FMU_WARNING; k++) {
        if (k == EVENT_ITERATIONS) return FMU_ERROR;
        status = fmu_update(m, &event);
    }
    return status;
}

static int march(fmu *m, double target, const double *inputs, fmu_stepped *out) {
    int status = FMU_OK;
    double limit = model.step > 0.0 ? model.step : 1e-2, stop = target;
    while (status <= FMU_WARNING && m->time < stop && !m->event.terminate) {
        double from = m->time, reach = fmin(stop, from + limit);
        bool event = false, asked = false, terminate = false;
        if (stop - reach < 1e-9 * limit) reach = stop;
        if (m->event.next_defined && m->event.next <= reach) reach = m->event.next;
        if (reach > from) status = internal_step(m, reach - from, inputs, &event);
        if (status > FMU_WARNING) break;
        if (!event) m->time = reach;
        if (model.completed) status = model.completed(m, &asked, &terminate);
        event = event || asked || (m->event.next_defined && m->event.next <= m->time);
        if (terminate) m->event.terminate = true;
        if (event && m->events_used && m->early_allowed) {
            out->event = true;
            break;
        }
        if (event && status <= FMU_WARNING) status = handle_events(m);
        if (m->update && m->time < stop) {
            double early = m->time;
            if (m->update(m, m->time, &early) && m->early_allowed) stop = fmin(stop, fmax(early, m->time));
        }
    }
    return status;
}

int fmu_step(fmu *m, const char *call, double time, double step, fmu_stepped *out) {
    double inputs[VARIABLES] = {0}, scale = fmax(fabs(time), fabs(step)), target = time + step;
    HOSTILE(PHASE_STEP);
    if (!fmu_true(m, step > 0.0 && isfinite(target), call, "the step is not positive")) return FMU_ERROR;
    if (!fmu_true(m, fabs(time - m->time) <= 1e-9 * scale, call, "time is not where the last step ended")) {
        return FMU_ERROR;
    }
    if (!fmu_true(m, !m->stop_defined || target <= m->stop + 1e-9 * scale, call, "after the stop time")) {
        return FMU_ERROR;
    }
    if (!fmu_true(m, !m->event.terminate, call, "after the end that the FMU asked for")) return FMU_ERROR;
    for (uint32_t i = 0; i < model.variable_count && i < VARIABLES; i++) {
        if (model.variables[i].role == INPUT && model.variables[i].type == FLOAT64) {
            inputs[i] = *(double *)((char *)m->data + model.variables[i].offset);
        }
    }
    m->time = m->slopes_from = time;
    m->written = false;
    int status = march(m, target, inputs, out);
    memset(m->slopes, 0, sizeof m->slopes); /* derivatives of inputs hold for one step */
    m->slopes_used = false;
    out->terminate = m->event.terminate;
    out->reached = m->time;
    out->early = m->time < target && !out->terminate;
    if (!out->early && !out->terminate) m->time = out->reached = target;
    if (HOSTILE_PHASE == PHASE_STEP && HOSTILE_ACT >= ACT_NAN && m->time >= HOSTILE_AFTER) {
        out->early = true;
        out->reached = HOSTILE_ACT == ACT_PAST   ? time - step
                       : HOSTILE_ACT == ACT_NOW  ? time
                       : HOSTILE_ACT == ACT_SOON ? nextafter(time, INFINITY)
                                                 : hostile_number(target);
        if (isfinite(out->reached)) m->time = out->reached;
    }
    return status;
}
