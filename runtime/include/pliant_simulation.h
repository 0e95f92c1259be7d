/* A whole simulation as one object: a part of pliant.h, which includes it.
 *
 *     pl_setup setup = {.engine = &pl_model_engine, .model = &model, .run.method = &pl_bdf_method, ...};
 *     void *block = malloc(pl_simulation_size(&setup));
 *     pl_simulation *s = pl_simulation_init(block, &setup, &status);
 *     status = pl_simulation_initialise(s);
 *     while ((status = pl_simulation_advance(s, 1000)) == PL_PAUSED) {}
 *
 * Memory: the block has room for everything a run needs, and for as many rows, steps, events and incidents as the setup
 * says. What needs more later goes through `grow`, is counted, and may be forbidden: PL_MEMORY, failure.what =
 * PL_IN_GROWTH and failure.index says what had to grow.
 *
 * Events are recorded and not returned. A failure is a status, `problem.failure` and the words of the model.
 * A pattern that differences contradict is reported as PL_PATTERN; who knows better calls pl_simulation_trust and goes on.
 */
#ifndef PLIANT_SIMULATION_H
#define PLIANT_SIMULATION_H

/* What may have to grow. Incidents that do not fit are counted only. */
enum { PL_GROW_FACTORS = 0, PL_GROW_ROWS, PL_GROW_LOG, PL_GROW_EVENTS, PL_GROW_INCIDENTS, PL_N_GROW };

/* The linear algebra of a model: planned once, read by any number of simulations at the same time. */
typedef struct pl_plan {
    pl_linear_options options;
    pl_linear_layout layout;
    const void *work;
} pl_plan;

/* Something that steps itself, e.g. a co-simulation unit. `self` as in pl_model. */
typedef struct pl_unit {
    int n_u;
    int n_y;
    size_t memory_size;
    const char *name;
    const pl_real *u_start; /* n_u; NULL: 0 */
    const int8_t
        *y_held; /* n_y: 1 for outputs that jump; others are interpolated between steps. NULL: none jumps */
    int equal_steps; /* 1: the communication step must not be shortened where inputs jump */
    pl_status (*open)(void *self);
    pl_status (*initialise)(void *self, pl_real t, const pl_real *u);
    /* Inputs from t on, as in `advance`, before outputs at t are read; NULL: `advance` alone tells them */
    pl_status (*inputs)(void *self, pl_real t, int degree, const pl_real *u);
    /* Go from t to t_next; inputs u_j(s) = sum_k u[k*n_u + j] (s - t)^k, k = 0..degree. *reached < t_next: something
     * happened there. PL_TERMINATED: and it ends the simulation. */
    pl_status (*advance)(void *self, pl_real t, pl_real t_next, int degree, const pl_real *u,
                         pl_real *reached);
    pl_status (*outputs)(void *self, pl_real t, int n, const int *index, pl_real *y);
    /* NULL: memory_size bytes are copied; save_size returning 0: it cannot be saved */
    size_t (*save_size)(void *self);
    pl_status (*save)(void *self, void *to);
    pl_status (*restore)(void *self, const void *from);
    void (*close)(void *self);
    const char *(*error)(void *self);
} pl_unit;

typedef struct pl_simulation pl_simulation;
typedef struct pl_setup pl_setup;

/* What does the work. */
typedef struct pl_engine {
    const char *name;
    size_t (*size)(const pl_setup *setup); /* bytes beside those that all engines need */
    pl_status (*init)(pl_simulation *s, const pl_setup *setup, char *memory);
    pl_status (*initialise)(pl_simulation *s);
    pl_status (*advance)(pl_simulation *s, int64_t budget); /* towards s->t_stop */
    pl_status (*flush)(pl_simulation *s);
    /* what it changes besides the instance and what all engines have, to and from flat memory */
    size_t (*save_size)(const pl_simulation *s);
    void (*save)(const pl_simulation *s, char *to);
    pl_status (*restore)(pl_simulation *s, const char *from);
} pl_engine;

extern const pl_engine pl_model_engine; /* a pl_model with one of our methods */
extern const pl_engine pl_unit_engine;  /* a pl_unit; run.method_options.h_fixed: its communication step */

/* What to simulate. All pointers must stay valid. */
struct pl_setup {
    const pl_engine *engine;
    const pl_model *model;
    const pl_unit *unit;
    int open; /* 1: the instance lies in the block and is opened by init; 0: it is `self` */
    void *self;
    const pl_real *parameters; /* n_p; NULL: p_start */
    const pl_inputs *inputs;   /* NULL: all keep u */
    const pl_real *u;          /* n_u, at the start; NULL: u_start, or what `inputs` says */
    const pl_real *x;          /* n_x: start values or guesses; NULL: x_start */
    const pl_real *atol;       /* n_x; copied */
    int atol_follows;          /* 1: it is a share of rtol and the nominal values, and follows them */
    pl_real rtol;
    pl_real start, stop;
    pl_run_options run;
    const pl_plan *plan; /* NULL: explicit methods */
    void *linear;        /* block of plan->layout.size bytes; NULL: part of the block */
    int linear_used;     /* 1: it was used before with this plan */
    /* of the start: held, check, x_given, n_given, given, value; the rest is filled in */
    pl_start_request request;
    void *start_work; /* pl_start_size bytes until the simulation has begun; NULL: part of the block */
    int degree; /* >= 0: inputs are set on the way, see pl_simulation_set_inputs; `inputs` is not used */
    const uint8_t *mask;  /* pl_linear_mask */
    int64_t n_points;     /* requested times, ascending; < 0: every step */
    const pl_real *point; /* n_points */
    int n_x_out;          /* states of a row */
    const int *x_index;
    int n_y_out; /* outputs of a row */
    const int *y_index;
    /* room at first; rows: one for each point, and one more where events may end the run; log 0: none is kept */
    int64_t rows, log, events, incidents;
    int last_events; /* 1: of the events only the last ones are kept, as many as there is room for */
    void *host;      /* whose */
    /* A block of `bytes` whose first `used` ones are those of `old`, which is not used any more (it may be part of the
     * first block). NULL: there is none. */
    void *(*grow)(void *host, int what, void *old, size_t used, size_t bytes);
    /* hears warnings of the model; NULL: nobody asks for them */
    void (*tell)(void *host, pl_real t, const char *text);
};

/* One event. */
typedef struct pl_event {
    pl_real t;
    int terminal;
    const pl_real *before; /* n_x */
    const pl_real *after;
    const int8_t *fired; /* n_roots: +1, -1, 0 */
} pl_event;

/* The head of the block: to be read; written by the functions below only, but for x and problem.u before the start. */
struct pl_simulation {
    pl_problem problem; /* with the failure, if there was one */
    pl_counters count;
    pl_record record;
    pl_output out;
    pl_run *run;            /* NULL: not this engine's */
    void *method;           /* its state */
    pl_real *x;             /* n_x: start values */
    pl_real *x_first;       /* n_x: ... before the first event */
    pl_real *p;             /* n_p: parameters, with those that the start determines */
    pl_start_report report; /* how start values were found, or why not */
    pl_real t;              /* everything up to here is final, for engines without a run */
    pl_real t_stop;
    int status; /* of the last call */
    int begun;  /* start values are found */
    int ended;  /* the model ended the simulation */
    int fresh;  /* no step was taken yet */
    int leg;    /* private */
    int n_u;
    int64_t n_events;
    int64_t event_capacity;
    size_t event_bytes; /* of each */
    char *event;
    int64_t grown[PL_N_GROW];   /* how often each has */
    size_t capacity[PL_N_GROW]; /* bytes */
    double lu_room;
    pl_linear_layout layout;
    pl_inputs inputs; /* degree >= 0: two segments */
    size_t size;      /* of the first block */
    int opened;       /* the instance lies in it, and is not closed yet */
    pl_setup setup;
};

size_t pl_simulation_size(const pl_setup *setup);
/* `memory`: that many bytes, aligned for doubles. NULL and *status: the instance could not be opened, or refuses its
 * parameters; setup->model->error of `memory` as the instance tells why. */
pl_simulation *pl_simulation_init(void *memory, const pl_setup *setup, pl_status *status);
/* Start values, then pl_simulation_begin. Failed: with s->begun 0 there are none, and s->report says why. */
pl_status pl_simulation_initialise(pl_simulation *s);
/* Start values are in s->x, inputs in problem.u, the instance is ready; next_time: first time event. */
pl_status pl_simulation_begin(pl_simulation *s, pl_real next_time);
/* At most `budget` steps, and as many events. PL_PAUSED: more is to come; PL_FINISHED, PL_TERMINATED; < 0: failed, and
 * stays so, but for PL_MEMORY (call again with more of it) and PL_PATTERN (pl_simulation_trust). */
pl_status pl_simulation_advance(pl_simulation *s, int64_t budget);
/* Where the simulation stands, as a last row, unless there is one. */
pl_status pl_simulation_flush(pl_simulation *s);
/* The pattern that PL_PATTERN complained about is right. */
void pl_simulation_trust(pl_simulation *s);
/* Event number k; one of those that are kept. */
pl_event pl_simulation_event(const pl_simulation *s, int64_t k);
/* What the model says about its last failure; "": nothing. */
const char *pl_simulation_words(const pl_simulation *s);
/* Closes an instance that lies in the block. */
void pl_simulation_close(pl_simulation *s);

/* Linear algebra given later, or taken away (NULL). */
void pl_simulation_set_linear(pl_simulation *s, const pl_plan *plan, void *block, int used);

/* Inputs set on the way (setup.degree >= 0): polynomials about t, where the simulation stands, coefficient[k*n_u + j].
 * From `t` on, u_j(s) = sum_k coefficient[k*n_u + j] (s - t)^k. */
void pl_simulation_set_inputs(pl_simulation *s, pl_real t, const pl_real *coefficient);
/* To t_next. Time events there wait for the inputs at t_next (run->held): they take place in the next call, or in
 * pl_simulation_settle. PL_PAUSED: call again with the same t_next. */
pl_status pl_simulation_go(pl_simulation *s, pl_real t_next, int64_t budget);
/* Events that wait here take place, with inputs u, and what their jump sets off. */
pl_status pl_simulation_settle(pl_simulation *s, const pl_real *u, int64_t budget);
/* x where it stands. */
void pl_simulation_state(pl_simulation *s, pl_real *x);
/* The same with algebraic unknowns that fit other inputs; a jump of the inputs must follow. work: 4 n_x */
pl_status pl_simulation_state_with(pl_simulation *s, const pl_real *u, pl_real *x, pl_real *work);

/* Other parameters (n_p) from where it stands on: the method begins anew. */
pl_status pl_simulation_set_parameters(pl_simulation *s, const pl_real *p);
/* The leg of pl_simulation_go that came back with PL_PAUSED ends where it stands. */
void pl_simulation_stay(pl_simulation *s);

/* For a simulation whose steps somebody else takes (model exchange), after pl_simulation_initialise; inputs are problem.u.
 * What happens at t: relations, discrete variables and clocks come to rest, x may be set. info->next_time also tells of
 * relations of time alone, and is at most `horizon`. jumped: inputs are not what they were before. */
pl_status pl_simulation_event_at(pl_simulation *s, pl_real t, pl_real horizon, pl_real *x, int jumped,
                                 pl_event_info *info);
/* Algebraic unknowns of x that fit its states; they begin where they are. */
pl_status pl_simulation_algebraic_at(pl_simulation *s, pl_real t, pl_real *x);
/* The next time event, seen from t, where nothing happened. */
pl_real pl_simulation_next_time(pl_simulation *s, pl_real t, pl_real horizon);

/* What may be saved besides all that stepping changes. */
enum { PL_SAVE_ROWS = 1, PL_SAVE_LOG = 2, PL_SAVE_EVENTS = 4, PL_SAVE_INCIDENTS = 8, PL_SAVE_ALL = 15 };

/* Flat memory with all that a simulation changes, without pointers; `what`: with these, of others their numbers only. 0: it
 * cannot be saved. To be restored by the same simulation, or by one of the same setup in any process on this kind of machine. */
size_t pl_simulation_save_size(const pl_simulation *s, int what);
pl_status pl_simulation_save(const pl_simulation *s, int what, void *to);
/* PL_ARGUMENT: not of this simulation. */
pl_status pl_simulation_restore(pl_simulation *s, const void *from);
/* Rows, log entries or events (PL_SAVE_...) number `first` on, which came another way. */
pl_status pl_simulation_append(pl_simulation *s, int what, int64_t first, int64_t count, const void *from);
/* `to` becomes what `from` is; room: pl_simulation_save_size(from, PL_SAVE_ALL) bytes. */
pl_status pl_simulation_copy(pl_simulation *to, const pl_simulation *from, void *room);

#endif
