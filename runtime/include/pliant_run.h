/* Methods and the step loop: a part of pliant.h, which includes it. */
#ifndef PLIANT_RUN_H
#define PLIANT_RUN_H

/* ------------------------------------------------------------------------------------------- methods */

/* Every method's state begins with this. */
typedef struct pl_stepper {
    pl_real t;      /* end of the last accepted step */
    pl_real t_old;  /* its beginning */
    pl_real h;      /* its size */
    pl_real h_next; /* size wanted for the next */
    int n;
    int order; /* order of the last step */
} pl_stepper;

typedef struct pl_method_options {
    pl_real h_first; /* 0: chosen */
    pl_real h_max;   /* 0: no bound */
    pl_real h_fixed; /* step of the fixed-step methods */
    pl_real h_start; /* bound of the first step after a restart; 0: none */
    int order_max;   /* BDF: 1..5, 0: 5 */
} pl_method_options;

enum { PL_BDF = 0, PL_RADAU5, PL_DOPRI5, PL_LIEULER, PL_EULER, PL_RK4, PL_N_METHODS };

typedef struct pl_jump pl_jump;

/* A method: `start` at (t, x) towards t_end, `step` once, not beyond t_limit; both leave a valid state on
 * failure. PL_PAUSED: no step, see pl_problem.refused. */
typedef struct pl_method {
    const char *name;
    int id;            /* PL_BDF ..., for logs */
    int implicit;      /* needs p->linear */
    int needs_complex; /* needs its complex part */
    size_t (*size)(int n);
    pl_status (*start)(void *state, pl_problem *p, const pl_method_options *opt, pl_real t, const pl_real *x,
                       pl_real t_end);
    pl_status (*step)(void *state, pl_problem *p, pl_real t_limit);
    /* x(t) (derivative = 0) or x'(t) (1) inside the last step */
    void (*interpolate)(const void *state, pl_real t, int derivative, pl_real *out);
    /* x(t) beyond the last step, as good as the method knows, also after failed attempts; degree in t - head.t, 0: not
     * known. NULL: never */
    int (*ahead)(const void *state, pl_real t, pl_real *out);
    /* current x (for moving it slightly: PL_STEP_PROJECTED) */
    pl_real *(*x)(void *state);
    const pl_real *(*x_now)(const void *state); /* the same, only to be read; with `nodes` */
    /* the linear block was made anew: evaluate and factorise again before using it */
    void (*forget)(void *state);
    /* Times at which a step to T knows the inputs, latest first, at most `most`; NULL: steps are not controlled by error.
     */
    int (*nodes)(const void *state, pl_real T, pl_real *t, int most);
    /* the next step shall not be longer than h; NULL: it would not be by itself */
    void (*shorten)(void *state, pl_real h);
    /* x' has a kink where the last step ended: it tells nothing about the next; NULL: begin anew */
    void (*kink)(void *state);
    /* v = the iteration matrix' answer to a change v of f for a step h; returns the step of the matrix, 0: none */
    pl_real (*response)(void *state, pl_problem *p, pl_real h, pl_real *v);
    /* correct what is known of the past where an input jumps; p->next_jump is past it. NULL, or not PL_OK: begin anew.
     * work: 7 n_u */
    pl_status (*jump)(void *state, pl_problem *p, const pl_jump *jump, pl_real *work);
} pl_method;

/* A program links those that it names. */
extern const pl_method pl_bdf_method, pl_radau5_method, pl_dopri5_method, pl_lieuler_method, pl_euler_method,
    pl_rk4_method;
/* By number, for hosts whose users choose: links all of them. */
const pl_method *pl_method_of(int id);

/* BDF in Nordsieck form: column k of the history is h^k x^(k) / k! at t, n_x values each. */
typedef struct pl_bdf pl_bdf;
size_t pl_bdf_size(int n);
pl_status pl_bdf_start(void *state, pl_problem *p, const pl_method_options *opt, pl_real t, const pl_real *x,
                       pl_real t_end);
pl_status pl_bdf_step(void *state, pl_problem *p, pl_real t_limit);
void pl_bdf_interpolate(const void *state, pl_real t, int derivative, pl_real *out);
pl_real *pl_bdf_history(pl_bdf *s, int *order, pl_real *h);

/* What happens to the history where an input jumps (bdf_jump.c). */
enum { PL_JUMP_RESTART = 0, PL_JUMP_PROCEED, PL_JUMP_X1, PL_JUMP_X2, PL_JUMP_CORRECT };

struct pl_jump {
    int how;        /* PL_JUMP_... */
    int segment;    /* of p->inputs that begins here; the one before it held until now */
    int always;     /* something else changed, too: correct even if the inputs agree */
    pl_real t;      /* where the method stands */
    pl_real t_next; /* where the next jump is, or the end */
};

/* ------------------------------------------------------------------------------------------ step loop */

typedef struct pl_output {
    int64_t n_points; /* requested times, ascending; < 0: every step */
    const pl_real *point;
    int n_x; /* states wanted */
    const int *x_index;
    int n_y; /* outputs wanted beside the states */
    const int *y_index;
    int64_t capacity;     /* rows that fit */
    int64_t used;         /* rows written */
    int64_t checked;      /* ... of these, known to be numbers */
    pl_real *row;         /* capacity * (1 + n_x + n_y): t, x, y */
    int64_t log_capacity; /* step log; 0: none */
    int64_t log_used;
    pl_real *log; /* log_capacity * 4: t, h, order, method */
} pl_output;

typedef struct pl_run_options {
    const pl_method *method; /* to begin with */
    const pl_method *other;  /* "auto": takes over where that fails, and hands back; NULL: none */
    pl_method_options method_options;
    int64_t max_steps;  /* 0: no limit */
    int root_samples;   /* interior points of a step where root functions are looked at */
    int restart_always; /* 1: restart after every event, also where nothing changed */
    int at_jump;        /* PL_JUMP_...: BDF where an input jumps; other methods begin anew */
    int ends;           /* 1: the run ends at t_stop, and models that ask for it are told (PL_MODEL_ENDS) */
} pl_run_options;

/* What is known of content of the inputs between the points where steps look (watch.c). */
typedef struct pl_watch {
    pl_real limit;    /* the step at work ends here for the sake of the inputs; +Inf: it does not */
    pl_real rate;     /* change of f for the deviations known, in tolerances per time */
    pl_real response; /* answer of the iteration matrix to it, in tolerances */
    pl_real h;        /* step size that this holds for */
    pl_real from, to; /* step that was looked at last */
    pl_real h_wanted; /* step size that was wanted when a step was limited */
    pl_real bend_h;   /* step that was looked at along bent inputs */
    pl_real kink;     /* f has no kink of time before this */
    int age;          /* steps since these were taken */
    int n_bent;       /* inputs that f is not affine in, and kinks of time (watch_bend.c) */
    int bend_age;     /* steps since f was looked at along these */
    int bend_passed;  /* pl_problem.passed then */
} pl_watch;

/* State of one simulation. Flat; followed by work arrays (see pl_run_size). */
typedef struct pl_run {
    pl_run_options opt;
    pl_real t_stop;
    pl_real t_reached; /* everything up to here is final */
    pl_real next_time; /* next time event of the model */
    int method;        /* at work now */
    int handovers;     /* auto: how often the method changed */
    int started;       /* method state valid */
    int step_open;     /* the last step still has roots and outputs to be looked at */
    pl_real t_left;    /* ... from here on */
    int64_t next_point;
    pl_real t_handover;   /* auto: where the last handover was */
    int64_t window_steps; /* auto: steps when the present window began */
    int64_t window_fails; /* auto: failures then */
    pl_real t_event;      /* last event */
    pl_real event_gap;    /* time between the last two events */
    pl_real t_past;       /* where root functions were looked at before t_left; not before t_left: nowhere */
    int events_in_place;  /* events without progress */
    int events_close;     /* events with hardly any progress */
    int held_roots;       /* some roots are held (event.c) */
    int held_events;      /* of these, without getting away from zero in between */
    int sets_x;           /* an event without progress set states anew */
    int aim;              /* steps are to end short of an event (guard.c): PL_AIM_... */
    int refusals;         /* since the last step: of the model, short of an event */
    int crossed;          /* the event at hand is one that no step reached */
    int solved;           /* its x, with algebraic unknowns solved for, is in the work arrays */
    pl_real t_aim;        /* where that event is, as far as known */
    pl_real t_slope;      /* where x' of the work arrays belongs */
    int n_x, n_roots, n_u;
    pl_watch watch;
    int n_ahead;       /* n_roots if some of them are searched ahead, else 0 */
    int n_watched;     /* roots that are looked for within the steps */
    int n_path;        /* ... of these, PL_ROOT_PATH */
    pl_real t_start;   /* of the run */
    pl_real h_largest; /* largest step so far */
    pl_real t_turn;    /* where the next root of time alone turns; +Inf: not known */
    pl_real t_clear;   /* up to where it is known that none does */
    pl_real defer;     /* time events this near to t_stop are left to the caller (other inputs); 0: none */
    int held; /* the run has stopped at such an event; it takes place when the run goes on with defer = 0 */
    pl_real t_rescued; /* last event behind which loops had to be solved from far away (guard.c) */
    int ending;        /* the model has been told that the run ends */
} pl_run;

size_t pl_run_size(const pl_model *m);
size_t pl_run_method_size(const pl_run_options *opt, int n);
/* x: consistent start values */
pl_status pl_run_init(pl_run *r, pl_problem *p, const pl_run_options *opt, pl_real t, pl_real t_stop,
                      const pl_real *x, pl_real next_time);
/* Work until an event was handled (PL_EVENT), output or log memory or max_steps of this call is used up
 * (PL_PAUSED), the end (PL_FINISHED, PL_TERMINATED) or a failure. */
pl_status pl_run_advance(pl_run *r, pl_problem *p, void *method_state, pl_output *out, int64_t steps);
/* After a failure or before giving up: the state at t_reached as one more row, if it is not the last one already. */
pl_status pl_run_flush(pl_run *r, pl_problem *p, void *method_state, pl_output *out);
/* After PL_MEMORY: p->linear was made anew with more room (pl_linear_options.lu_room); then advance again. */
void pl_run_relinearise(pl_run *r, void *method_state);
/* After PL_EVENT and PL_TERMINATED: states just before and after, and which roots fired (+1, -1, 0). */
const pl_real *pl_run_event_before(const pl_run *r);
const pl_real *pl_run_event_after(const pl_run *r);
const int8_t *pl_run_event_fired(const pl_run *r);

#endif
