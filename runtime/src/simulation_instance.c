/* The instance inside a simulation: opened, saved, asked for its words, whatever kind of thing it is. */
#include "simulation.h"

#include <string.h>

pl_status pl_instance_open(pl_simulation *s) {
    const pl_setup *setup = &s->setup;
    void *self = s->problem.self;
    pl_sizes n = pl_setup_sizes(setup);
    if (self) memset(self, 0, n.memory);
    pl_status (*open)(void *) = setup->model ? setup->model->open : setup->unit->open;
    pl_status status = open ? open(self) : PL_OK;
    if (status == PL_OK && setup->model && setup->model->set_parameters && n.n_p > 0 && setup->parameters)
        status = setup->model->set_parameters(self, setup->parameters);
    return status == PL_OK ? status : pl_simulation_fail(s, status, PL_IN_INITIAL, -1, setup->start);
}

void pl_simulation_close(pl_simulation *s) {
    void (*close)(void *) = s->setup.model ? s->setup.model->close : s->setup.unit->close;
    if (s->opened && close) close(s->problem.self);
    s->opened = 0;
}

const char *pl_simulation_words(const pl_simulation *s) {
    const char *(*error)(void *) = s->setup.model ? s->setup.model->error : s->setup.unit->error;
    const char *words = error ? error(s->problem.self) : NULL;
    return words ? words : "";
}

/* Functions of the model or unit; all NULL: its memory is copied. */
typedef struct saver {
    size_t (*size)(void *);
    pl_status (*save)(void *, void *);
    pl_status (*restore)(void *, const void *);
} saver;

static saver saver_of(const pl_simulation *s) {
    const pl_model *m = s->setup.model;
    const pl_unit *unit = s->setup.unit;
    saver of =
        m ? (saver){m->save_size, m->save, m->restore} : (saver){unit->save_size, unit->save, unit->restore};
    saver none = {0};
    return of.size && of.save && of.restore ? of : none;
}

size_t pl_instance_save_size(const pl_simulation *s, int *can) {
    saver of = saver_of(s);
    *can = 1;
    if (!of.size) return pl_setup_sizes(&s->setup).memory;
    size_t bytes = of.size(s->problem.self);
    *can = bytes > 0;
    return bytes;
}

pl_status pl_instance_save(const pl_simulation *s, void *to) {
    saver of = saver_of(s);
    size_t bytes = pl_setup_sizes(&s->setup).memory;
    if (of.save) return of.save(s->problem.self, to);
    if (bytes > 0) memcpy(to, s->problem.self, bytes);
    return PL_OK;
}

pl_status pl_instance_restore(pl_simulation *s, const void *from) {
    saver of = saver_of(s);
    size_t bytes = pl_setup_sizes(&s->setup).memory;
    if (of.restore) return of.restore(s->problem.self, from);
    if (bytes > 0) memcpy(s->problem.self, from, bytes);
    return PL_OK;
}
