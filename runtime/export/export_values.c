/* Values of an exported FMU by reference, and their derivatives along a direction. */
#include "pl_export.h"

#include <limits.h>
#include <math.h>
#include <string.h>

const char *pl_exported_name_of(const pl_exported_instance *c, const pl_export_variable *v) {
    const pl_model *m = c->table->model;
    const char *const *name = NULL;
    if (c->table->name) return c->table->name[v - c->table->variable];
    if (m && (v->at == PL_AT_X || v->at == PL_AT_SLOPE)) name = m->x_name;
    if (m && v->at == PL_AT_U) name = m->u_name;
    if (m && v->at == PL_AT_P) name = m->p_name;
    if (m && v->at == PL_AT_Y) name = m->y_name;
    if (m && v->at == PL_AT_ROOT) name = m->root_name;
    return name ? name[v->index] : "a variable";
}

static const pl_export_variable *find(pl_exported_instance *c, uint32_t reference) {
    if (reference < (uint32_t)c->table->n_variables) return c->table->variable + reference;
    pl_exported_say(c, PL_ERROR, "there is no variable with the value reference %lu",
                    (unsigned long)reference);
    return NULL;
}

static int same_type(pl_exported_instance *c, const pl_export_variable *v, int type) {
    static const char *const name[] = {"a Real", "an Integer", "a Boolean", "an Enumeration", "a String"};
    int kind = v->type == PL_TYPE_ENUMERATION && type == PL_TYPE_INTEGER ? PL_TYPE_INTEGER : v->type;
    if (kind == type) return 1;
    pl_exported_say(c, PL_ERROR, "%s is %s, and is not read or set as %s", pl_exported_name_of(c, v),
                    name[v->type], name[type]);
    return 0;
}

/* ---------------------------------------------------------------------------------------------- reading */

/* Where the equations cannot be evaluated an importer that steps may try a smaller step. */
static int refusal(const pl_exported_instance *c) {
    return c->now.mode == PL_CONTINUOUS ? PL_DISCARD : PL_ERROR;
}

static int not_evaluated(pl_exported_instance *c, pl_status status, const char *what) {
    const char *words = c->sim ? pl_simulation_words(c->sim) : "";
    return pl_exported_say(c, status == PL_FATAL ? PL_ERROR : refusal(c),
                           "%s cannot be evaluated at t = %.15g: %s", what, c->now.t,
                           words[0] ? words : pl_status_text(status));
}

static int all_finite(pl_exported_instance *c, int n, const pl_real *value, const char *const *name,
                      const char *what) {
    int wrong = pl_first_nonfinite(n, value);
    if (wrong < 0) return PL_FINE;
    return pl_exported_say(c, refusal(c), "%s%s is not a finite number at t = %.15g", what,
                           name ? name[wrong] : "", c->now.t);
}

int pl_exported_algebraic(pl_exported_instance *c) {
    pl_status status = PL_OK;
    if (c->n_states == c->n_x || c->fresh & PL_FRESH_ALGEBRAIC) return PL_FINE;
    if (!c->steps) {
        if (c->n_u > 0) memcpy(c->sim->problem.u, c->u, (size_t)c->n_u * sizeof(pl_real));
        status = pl_simulation_algebraic_at(c->sim, c->now.t, c->x);
    } else if (c->now.inputs_new) {
        status = pl_simulation_state_with(c->sim, c->u, c->x, c->x_work);
    }
    if (status != PL_OK) return not_evaluated(c, status, "the algebraic equations");
    c->fresh |= PL_FRESH_ALGEBRAIC;
    return PL_FINE;
}

int pl_exported_slopes(pl_exported_instance *c) {
    const pl_model *m = c->table->model;
    if (c->fresh & PL_FRESH_SLOPES || c->n_x == 0) return PL_FINE;
    if (pl_exported_algebraic(c) != PL_FINE) return refusal(c);
    pl_status status = m->rhs(c->sim->problem.self, c->now.t, c->x, c->u, c->slope);
    if (!c->steps) c->sim->count.n_rhs++;
    if (status != PL_OK) return not_evaluated(c, status, "the derivatives");
    int fine = all_finite(c, c->n_states, c->slope, m->x_name, "the derivative of ");
    if (fine == PL_FINE) c->fresh |= PL_FRESH_SLOPES;
    return fine;
}

int pl_exported_roots(pl_exported_instance *c) {
    const pl_model *m = c->table->model;
    if (c->fresh & PL_FRESH_ROOTS || c->n_roots == 0) return PL_FINE;
    if (pl_exported_algebraic(c) != PL_FINE) return refusal(c);
    pl_status status = m->roots(c->sim->problem.self, c->now.t, c->x, c->u, c->roots);
    if (status != PL_OK) return not_evaluated(c, status, "the event indicators");
    int fine = all_finite(c, c->n_roots, c->roots, m->root_name, "the event indicator of ");
    if (fine == PL_FINE) c->fresh |= PL_FRESH_ROOTS;
    return fine;
}

static int outputs(pl_exported_instance *c) {
    const pl_export_table *table = c->table;
    void *self = c->sim->problem.self;
    if (c->fresh & PL_FRESH_Y || c->n_y == 0) return PL_FINE;
    if (table->model && pl_exported_algebraic(c) != PL_FINE) return refusal(c);
    pl_status status = PL_OK;
    if (table->model) {
        status = table->model->outputs(self, c->now.t, c->x, c->u, c->n_y, NULL, c->y);
    } else {
        if (c->now.inputs_new && table->unit->inputs) status = table->unit->inputs(self, c->now.t, 0, c->u);
        if (status == PL_OK) status = table->unit->outputs(self, c->now.t, c->n_y, NULL, c->y);
    }
    if (status != PL_OK) return not_evaluated(c, status, "the variables");
    c->fresh |= PL_FRESH_Y;
    return PL_FINE;
}

static int dependent(pl_exported_instance *c) {
    if (c->fresh & PL_FRESH_DEPENDENT) return PL_FINE;
    pl_status status = c->table->dependent(c->sim->problem.self, c->dependent);
    if (status != PL_OK) return not_evaluated(c, status, "what follows from the parameters");
    c->fresh |= PL_FRESH_DEPENDENT;
    return PL_FINE;
}

static pl_real counted(const pl_exported_instance *c, int which) {
    if (!c->now.solved || !c->sim) return 0.0;
    const pl_counters *n = &c->sim->count;
    const int64_t value[] = {n->n_steps,  n->n_rhs,   n->n_jac,         n->n_jvp,          n->n_taylor,
                             n->n_factor, n->n_solve, n->n_error_fails, n->n_newton_fails, n->n_events};
    const int counters = (int)(sizeof value / sizeof value[0]);
    const pl_stepper *head = c->sim->run && c->sim->run->started ? c->sim->method : NULL;
    if (which >= counters) return !head ? 0.0 : which == counters ? (pl_real)head->order : head->h;
    return (pl_real)value[which];
}

/* Everything that has to be done before values of the run can be read. */
static int ready(pl_exported_instance *c, const pl_export_variable *v) {
    int early = v->at == PL_AT_X || v->at == PL_AT_U || v->at == PL_AT_P || v->at == PL_AT_TIME ||
                v->at == PL_AT_CONSTANT || v->at == PL_AT_COUNTER;
    if (c->now.mode == PL_MADE) {
        if (early) return PL_FINE;
        return pl_exported_say(c, PL_ERROR, "%s has no value before the start", pl_exported_name_of(c, v));
    }
    if (c->now.mode == PL_STARTING) return pl_exported_solve(c);
    int status = c->now.p_new ? pl_exported_parameters(c) : PL_FINE;
    if (status != PL_FINE || c->now.solved) return status;
    return pl_exported_say(c, PL_ERROR, "the instance has no values: it was not initialised");
}

static int value_of(pl_exported_instance *c, const pl_export_variable *v, pl_real *value) {
    int status = ready(c, v), k = v->index;
    if (status != PL_FINE) return status;
    if (v->at == PL_AT_X && k >= c->n_states && c->now.mode != PL_MADE) status = pl_exported_algebraic(c);
    if (v->at == PL_AT_SLOPE) status = pl_exported_slopes(c);
    if (v->at == PL_AT_Y) status = outputs(c);
    if (v->at == PL_AT_ROOT) status = pl_exported_roots(c);
    if (v->at == PL_AT_DEPENDENT) status = dependent(c);
    if (status != PL_FINE) return status;
    switch (v->at) {
    case PL_AT_TIME:
        *value = c->now.t;
        break;
    case PL_AT_X:
        *value = c->now.mode == PL_MADE ? c->x_start[k] : c->x[k];
        break;
    case PL_AT_SLOPE:
        *value = c->slope[k];
        break;
    case PL_AT_U:
        *value = c->u[k];
        break;
    case PL_AT_P:
        *value = c->p[k];
        break;
    case PL_AT_Y:
        *value = c->y[k];
        break;
    case PL_AT_ROOT:
        *value = c->roots[k];
        break;
    case PL_AT_COUNTER:
        *value = counted(c, k);
        break;
    case PL_AT_DEPENDENT:
        *value = c->dependent[k];
        break;
    default:
        *value = c->table->constant[k];
        break;
    }
    *value *= v->sign;
    return PL_FINE;
}

int pl_exported_get(pl_exported_instance *c, uint32_t reference, int type, pl_real *value) {
    const pl_export_variable *v = find(c, reference);
    if (!v || !same_type(c, v, type)) return PL_ERROR;
    int status = value_of(c, v, value);
    if (status != PL_FINE) return status;
    if (!(fabs(*value) < HUGE_VAL) && v->at != PL_AT_CONSTANT)
        return pl_exported_say(c, refusal(c), "%s is not a finite number at t = %.15g",
                               pl_exported_name_of(c, v), c->now.t);
    return PL_FINE;
}

/* --------------------------------------------------------------------------------------------- setting */

static int may_set(pl_exported_instance *c, const pl_export_variable *v) {
    int before = c->now.mode & (PL_MADE | PL_STARTING);
    int input = v->at == PL_AT_U;
    if (before ? v->may & PL_MAY_START : v->may & PL_MAY_CHANGE) {
        if (before || c->now.mode & (PL_IN_EVENTS | PL_STEPPING)) return 1;
        if (c->now.mode == PL_CONTINUOUS && input && v->type == PL_TYPE_REAL) return 1;
    }
    pl_exported_say(c, PL_ERROR, "%s cannot be set %s", pl_exported_name_of(c, v),
                    before ? "at the start: it is computed" : "now");
    return 0;
}

static int acceptable(pl_exported_instance *c, const pl_export_variable *v, pl_real value) {
    if (!(fabs(value) < HUGE_VAL))
        return pl_exported_say(c, PL_ERROR, "%s cannot be %g: not a finite number", pl_exported_name_of(c, v),
                               value);
    if (v->type == PL_TYPE_BOOLEAN && value != 0.0 && value != 1.0)
        return pl_exported_say(c, PL_ERROR, "%s cannot be %g: it is a Boolean", pl_exported_name_of(c, v),
                               value);
    return PL_FINE;
}

static void set_input(pl_exported_instance *c, int k, pl_real value) {
    if (c->u[k] != value) c->now.inputs_new = 1;
    c->u[k] = value;
    for (int order = 1; order <= PL_INPUT_DEGREE; order++) c->u[order * c->n_u + k] = 0.0;
}

int pl_exported_set(pl_exported_instance *c, uint32_t reference, int type, pl_real value) {
    const pl_export_variable *v = find(c, reference);
    if (!v || !same_type(c, v, type)) return PL_ERROR;
    /* importers apply all inputs at every point: what a discrete one is already does no harm */
    if (c->now.mode == PL_CONTINUOUS && v->at == PL_AT_U && c->u[v->index] == v->sign * value) return PL_FINE;
    if (c->now.mode == PL_CONTINUOUS && v->at == PL_AT_U && v->type != PL_TYPE_REAL) {
        if (acceptable(c, v, value) != PL_FINE)
            return PL_ERROR; /* a look ahead: event mode brings it again */
        return pl_exported_say(c, PL_WARNING, "%s is discrete: it keeps its value until event mode",
                               pl_exported_name_of(c, v));
    }
    if (!may_set(c, v) || acceptable(c, v, value) != PL_FINE) return PL_ERROR;
    int k = v->index, before = (c->now.mode & (PL_MADE | PL_STARTING)) != 0;
    value *= v->sign;
    if (v->at == PL_AT_U) {
        if (c->u[k] != value) c->fresh &= PL_FRESH_DEPENDENT;
        set_input(c, k, value);
    } else if (v->at == PL_AT_P) {
        c->fresh = 0;
        c->p[k] = value;
        if (!before) c->now.p_new = 1;
    } else if (v->at == PL_AT_X) {
        c->x_start[k] = c->x[k] = value;
        c->x_given[k] = v->may & PL_MAY_GUESS ? 2 : 1;
    }
    if (before) c->now.solved = 0;
    return PL_FINE;
}

int pl_exported_set_derivative(pl_exported_instance *c, uint32_t reference, int order, pl_real value) {
    const pl_export_variable *v = find(c, reference);
    if (!v) return PL_ERROR;
    if (!(v->may & PL_MAY_BEND) || order < 1 || order > PL_INPUT_DEGREE)
        return pl_exported_say(c, PL_ERROR, "%s has no derivative of order %d that can be set: %s",
                               pl_exported_name_of(c, v), order,
                               v->may & PL_MAY_BEND ? "orders are 1 to 3" : "it is no continuous input");
    if (acceptable(c, v, value) != PL_FINE) return PL_ERROR;
    pl_real *place = c->u + order * c->n_u + v->index;
    if (*place != v->sign * value) c->now.inputs_new = 1;
    *place = v->sign * value;
    return PL_FINE;
}

/* ----------------------------------------------------------------------------------------- derivatives */

/* What the model gives along the direction in c->along, as often as unknowns ask for another vector. */
static int derive(pl_exported_instance *c, int of, pl_real dt, int by_parameters) {
    const pl_model *m = c->table->model;
    pl_direction along = {.dt = dt, .dx = c->along, .du = c->along + c->n_x};
    if (by_parameters) along.dp = c->along + c->n_x + c->n_u;
    if (!m->tangent || !(m->tangents & of) || (by_parameters && !(m->tangents & PL_BY_PARAMETERS)))
        return pl_exported_say(c, PL_ERROR, "this derivative is not part of the FMU");
    pl_status status = m->tangent(c->sim->problem.self, of, c->now.t, c->x, c->u, &along, c->derived);
    return status == PL_OK ? PL_FINE : not_evaluated(c, status, "the derivatives along a direction");
}

static int direction(pl_exported_instance *c, const uint32_t *known, size_t n, const pl_real *seed,
                     pl_real *dt, int *by_parameters) {
    memset(c->along, 0, (size_t)(c->n_x + c->n_u + c->n_p) * sizeof(pl_real));
    for (size_t i = 0; i < n; i++) {
        const pl_export_variable *v = find(c, known[i]);
        if (!v || acceptable(c, v, v->type == PL_TYPE_REAL ? seed[i] : 0.0) != PL_FINE) return PL_ERROR;
        pl_real part = v->sign * seed[i];
        if (v->at == PL_AT_TIME)
            *dt += part;
        else if (v->at == PL_AT_X)
            c->along[v->index] += part;
        else if (v->at == PL_AT_U)
            c->along[c->n_x + v->index] += part;
        else if (v->at == PL_AT_P)
            c->along[c->n_x + c->n_u + v->index] += part, *by_parameters = 1;
        else
            return pl_exported_say(c, PL_ERROR, "%s is not something that others depend on as a known",
                                   pl_exported_name_of(c, v));
    }
    return PL_FINE;
}

int pl_exported_along(pl_exported_instance *c, const uint32_t *unknown, size_t n_unknown,
                      const uint32_t *known, size_t n_known, const pl_real *seed, pl_real *product) {
    static const int vectors[] = {PL_AT_SLOPE, PL_AT_Y, PL_AT_ROOT};
    static const int of[] = {PL_OF_RHS, PL_OF_OUTPUTS, PL_OF_ROOTS};
    pl_real dt = 0.0;
    int by_parameters = 0;
    if (!c->table->model || c->n_states < c->n_x)
        return pl_exported_say(c, PL_ERROR, "this FMU has no directional derivatives");
    if (c->now.mode == PL_STARTING)
        return pl_exported_say(c, PL_ERROR, "derivatives of start values are not part of the FMU");
    const pl_export_variable any = {.at = PL_AT_SLOPE};
    int status = ready(c, &any);
    if (status == PL_FINE) status = direction(c, known, n_known, seed, &dt, &by_parameters);
    if (status != PL_FINE) return status;
    for (size_t i = 0; i < n_unknown; i++) {
        const pl_export_variable *v = find(c, unknown[i]);
        if (!v) return PL_ERROR;
        if (v->type != PL_TYPE_REAL)
            return pl_exported_say(c, PL_ERROR, "%s has no derivative", pl_exported_name_of(c, v));
        product[i] = 0.0;
        if (v->at == PL_AT_TIME) product[i] = dt;
        if (v->at == PL_AT_X) product[i] = v->sign * c->along[v->index];
        if (v->at == PL_AT_U) product[i] = v->sign * c->along[c->n_x + v->index];
        if (v->at == PL_AT_P) product[i] = v->sign * c->along[c->n_x + c->n_u + v->index];
    }
    for (int k = 0; k < 3; k++) {
        int done = 0;
        for (size_t i = 0; i < n_unknown; i++) {
            const pl_export_variable *v = find(c, unknown[i]);
            if (v->at != vectors[k]) continue;
            status = done ? PL_FINE : derive(c, of[k], dt, by_parameters);
            if (status != PL_FINE) return status;
            done = 1;
            product[i] = v->sign * c->derived[v->index];
            if (!(fabs(product[i]) < HUGE_VAL))
                return pl_exported_say(c, refusal(c), "the derivative of %s is not a finite number",
                                       pl_exported_name_of(c, v));
        }
    }
    return PL_FINE;
}
