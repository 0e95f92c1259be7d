/* A simulation to and from flat memory, without pointers: what stepping changes, and if wanted all that was recorded. */
#include "simulation.h"

#include <string.h>

#define MAGIC 0x706c7331

typedef struct image {
    int64_t magic;
    int64_t bytes; /* of the whole */
    int what;
    int n_x, n_u, n_p, degree;
    int begun, ended, fresh, leg, status;
    int next_jump, passed;
    pl_real t, t_stop;
    pl_failure failure;
    pl_counters count;
    int64_t seen[PL_SAW_KINDS];
    int64_t rows, checked, log, events, incidents;
    size_t row_bytes, event_bytes;
    size_t engine, instance;
} image;

static size_t segment_bytes(const pl_simulation *s) {
    if (s->problem.inputs != &s->inputs) return 0;
    return (2 + 2 * (size_t)(s->inputs.degree + 1) * (size_t)s->n_u) * sizeof(pl_real);
}

/* The last row is kept in any case: it may be replaced. */
static int64_t rows_kept(int64_t used, int what) {
    return what & PL_SAVE_ROWS || used == 0 ? used : 1;
}

static size_t parameter_bytes(const pl_simulation *s) {
    return (size_t)pl_setup_sizes(&s->setup).n_p * sizeof(pl_real);
}

static size_t state_bytes(const pl_simulation *s) {
    size_t n = (size_t)s->record.n;
    return 3 * pl_round_up(n * sizeof(pl_real)) + pl_round_up(parameter_bytes(s)) +
           pl_round_up((size_t)(s->n_u + 1) * sizeof(pl_real)) + pl_round_up(segment_bytes(s)) +
           pl_round_up(5 * n * sizeof(int64_t));
}

/* Where only the last events are kept, these are a part of the state: the last one tells whether it ended the run. */
static size_t kept_event_bytes(const pl_simulation *s, int64_t events, int what) {
    if (s->setup.last_events) return (size_t)s->event_capacity * s->event_bytes;
    return what & PL_SAVE_EVENTS ? (size_t)events * s->event_bytes : 0;
}

static size_t record_bytes(const pl_simulation *s, int what) {
    size_t bytes = pl_round_up((size_t)rows_kept(s->out.used, what) * pl_row_bytes(&s->out));
    if (what & PL_SAVE_LOG) bytes += pl_round_up((size_t)s->out.log_used * 4 * sizeof(pl_real));
    bytes += pl_round_up(kept_event_bytes(s, s->n_events, what));
    if (what & PL_SAVE_INCIDENTS) bytes += pl_round_up((size_t)s->record.used * sizeof(pl_incident));
    return bytes;
}

size_t pl_simulation_save_size(const pl_simulation *s, int what) {
    int can;
    size_t instance = pl_round_up(pl_instance_save_size(s, &can));
    size_t engine = pl_round_up(s->setup.engine->save_size(s));
    return can ? pl_round_up(sizeof(image)) + state_bytes(s) + engine + instance + record_bytes(s, what) : 0;
}

static void put(char **at, const void *from, size_t bytes) {
    void *to = pl_take(at, bytes);
    if (bytes > 0) memcpy(to, from, bytes);
}

static void get(const char **at, void *to, size_t bytes) {
    if (bytes > 0) memcpy(to, *at, bytes);
    *at += pl_round_up(bytes);
}

pl_status pl_simulation_save(const pl_simulation *s, int what, void *to) {
    int can;
    char *at = to;
    image *head = pl_take(&at, sizeof *head);
    size_t n = (size_t)s->record.n, width = pl_row_bytes(&s->out);
    memset(head, 0, sizeof *head);
    head->magic = MAGIC;
    head->bytes = (int64_t)pl_simulation_save_size(s, what);
    head->what = what;
    head->n_x = s->record.n;
    head->n_u = s->n_u;
    head->n_p = pl_setup_sizes(&s->setup).n_p;
    head->degree = s->inputs.degree;
    head->begun = s->begun;
    head->ended = s->ended;
    head->fresh = s->fresh;
    head->leg = s->leg;
    head->status = s->status;
    head->next_jump = s->problem.next_jump;
    head->passed = s->problem.passed;
    head->t = s->t;
    head->t_stop = s->t_stop;
    head->failure = s->problem.failure;
    head->count = s->count;
    memcpy(head->seen, s->record.seen, sizeof head->seen);
    head->rows = s->out.used;
    head->checked = s->out.checked;
    head->log = s->out.log_used;
    head->events = s->n_events;
    head->incidents = s->record.used;
    head->row_bytes = width;
    head->event_bytes = s->event_bytes;
    head->engine = s->setup.engine->save_size(s);
    head->instance = pl_instance_save_size(s, &can);
    if (!can) return PL_ARGUMENT;
    put(&at, s->x, n * sizeof(pl_real));
    put(&at, s->x_first, n * sizeof(pl_real));
    put(&at, s->problem.atol, n * sizeof(pl_real));
    put(&at, s->p, parameter_bytes(s));
    put(&at, s->problem.u, (size_t)(s->n_u + 1) * sizeof(pl_real));
    put(&at, s->inputs.start, segment_bytes(s));
    put(&at, s->record.limits, 5 * n * sizeof(int64_t));
    s->setup.engine->save(s, at);
    at += pl_round_up(head->engine);
    pl_status status = pl_instance_save(s, at);
    if (status != PL_OK) return status;
    at += pl_round_up(head->instance);
    int64_t kept = rows_kept(s->out.used, what);
    put(&at, (const char *)s->out.row + (size_t)(s->out.used - kept) * width, (size_t)kept * width);
    if (what & PL_SAVE_LOG) put(&at, s->out.log, (size_t)s->out.log_used * 4 * sizeof(pl_real));
    put(&at, s->event, kept_event_bytes(s, s->n_events, what));
    if (what & PL_SAVE_INCIDENTS) put(&at, s->record.incident, (size_t)s->record.used * sizeof(pl_incident));
    return PL_OK;
}

/* Room for `bytes` of something recorded. */
static void *room_for(pl_simulation *s, int what, void *old, size_t used, size_t bytes) {
    return bytes > s->capacity[what] ? pl_simulation_grow(s, what, old, used, bytes) : old;
}

static pl_status room_for_log(pl_simulation *s, int64_t count) {
    size_t each = 4 * sizeof(pl_real);
    void *block = room_for(s, PL_GROW_LOG, s->out.log, (size_t)s->out.log_used * each, (size_t)count * each);
    if (!block && count > 0) return PL_MEMORY;
    s->out.log = block;
    if (s->out.log_capacity < count) s->out.log_capacity = count;
    return PL_OK;
}

static pl_status room_for_events(pl_simulation *s, int64_t count) {
    size_t each = s->event_bytes;
    void *block = room_for(s, PL_GROW_EVENTS, s->event, (size_t)s->n_events * each, (size_t)count * each);
    if (!block && count > 0) return PL_MEMORY;
    s->event = block;
    if (s->event_capacity < count) s->event_capacity = count;
    return PL_OK;
}

static pl_status room_for_rows(pl_simulation *s, int64_t count) {
    size_t each = pl_row_bytes(&s->out);
    void *block = room_for(s, PL_GROW_ROWS, s->out.row, (size_t)s->out.used * each, (size_t)count * each);
    if (!block && count > 0) return PL_MEMORY;
    s->out.row = block;
    if (s->out.capacity < count) s->out.capacity = count;
    return PL_OK;
}

/* Twice as much as is needed, where something grows bit by bit. */
static int64_t amply(int64_t needed, int64_t capacity) {
    return needed > capacity ? 2 * needed : needed;
}

pl_status pl_simulation_append(pl_simulation *s, int what, int64_t first, int64_t count, const void *from) {
    int64_t last = first + count;
    pl_status status = PL_ARGUMENT;
    if (what == PL_SAVE_ROWS) {
        status = room_for_rows(s, amply(last, s->out.capacity));
        if (status != PL_OK) return status;
        memcpy((char *)s->out.row + (size_t)first * pl_row_bytes(&s->out), from,
               (size_t)count * pl_row_bytes(&s->out));
        s->out.used = s->out.checked = last;
    } else if (what == PL_SAVE_LOG) {
        status = room_for_log(s, amply(last, s->out.log_capacity));
        if (status != PL_OK) return status;
        memcpy(s->out.log + 4 * first, from, 4 * sizeof(pl_real) * (size_t)count);
        s->out.log_used = last;
    } else if (what == PL_SAVE_EVENTS) {
        status = room_for_events(s, amply(last, s->event_capacity));
        if (status != PL_OK) return status;
        memcpy(s->event + (size_t)first * s->event_bytes, from, (size_t)count * s->event_bytes);
        s->n_events = last;
    }
    return status;
}

static pl_status restore_record(pl_simulation *s, const image *head, const char **at) {
    pl_status status = room_for_log(s, head->log);
    if (status == PL_OK && !s->setup.last_events) status = room_for_events(s, head->events);
    if (status != PL_OK) return status;
    if (head->what & PL_SAVE_LOG) get(at, s->out.log, (size_t)head->log * 4 * sizeof(pl_real));
    get(at, s->event, kept_event_bytes(s, head->events, head->what));
    if (!(head->what & PL_SAVE_INCIDENTS)) return PL_OK;
    size_t bytes = (size_t)head->incidents * sizeof(pl_incident);
    void *block = room_for(s, PL_GROW_INCIDENTS, s->record.incident, 0, bytes);
    if (!block && bytes > 0) return PL_OK; /* they are counted */
    s->record.incident = block;
    if (s->record.capacity < head->incidents) s->record.capacity = head->incidents;
    get(at, s->record.incident, bytes);
    s->record.used = head->incidents;
    return PL_OK;
}

static pl_status restore_rows(pl_simulation *s, const image *head, const char **at) {
    int64_t kept = rows_kept(head->rows, head->what);
    pl_status status = room_for_rows(s, head->rows);
    if (status != PL_OK) return status;
    get(at, (char *)s->out.row + (size_t)(head->rows - kept) * head->row_bytes,
        (size_t)kept * head->row_bytes);
    s->out.used = head->rows;
    s->out.checked = head->checked;
    return PL_OK;
}

pl_status pl_simulation_restore(pl_simulation *s, const void *from) {
    const char *at = from;
    image head;
    size_t n = (size_t)s->record.n;
    memcpy(&head, from, sizeof head);
    if (head.magic != MAGIC || head.n_x != s->record.n || head.n_u != s->n_u ||
        head.n_p != pl_setup_sizes(&s->setup).n_p || head.degree != s->inputs.degree ||
        head.row_bytes != pl_row_bytes(&s->out) || head.event_bytes != s->event_bytes)
        return PL_ARGUMENT;
    at += pl_round_up(sizeof head);
    get(&at, s->x, n * sizeof(pl_real));
    get(&at, s->x_first, n * sizeof(pl_real));
    get(&at, (pl_real *)s->problem.atol, n * sizeof(pl_real));
    get(&at, s->p, parameter_bytes(s));
    get(&at, s->problem.u, (size_t)(s->n_u + 1) * sizeof(pl_real));
    get(&at, (void *)s->inputs.start, segment_bytes(s));
    get(&at, s->record.limits, 5 * n * sizeof(int64_t));
    pl_status status = s->setup.engine->restore(s, at);
    at += pl_round_up(head.engine);
    if (status == PL_OK) status = pl_instance_restore(s, at);
    at += pl_round_up(head.instance);
    if (status == PL_OK) status = restore_rows(s, &head, &at);
    if (status != PL_OK) return status;
    s->begun = head.begun;
    s->ended = head.ended;
    s->fresh = head.fresh;
    s->leg = head.leg;
    s->status = head.status;
    s->problem.next_jump = head.next_jump;
    s->problem.passed = head.passed;
    s->t = head.t;
    s->t_stop = head.t_stop;
    s->problem.failure = head.failure;
    s->count = head.count;
    memcpy(s->record.seen, head.seen, sizeof head.seen);
    status = restore_record(s, &head, &at);
    s->out.log_used = head.log;
    s->n_events = head.events;
    if (s->record.used > head.incidents) s->record.used = head.incidents;
    return status;
}

pl_status pl_simulation_copy(pl_simulation *to, const pl_simulation *from, void *room) {
    pl_status status = pl_simulation_save(from, PL_SAVE_ALL, room);
    return status == PL_OK ? pl_simulation_restore(to, room) : status;
}
