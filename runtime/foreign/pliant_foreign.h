/* Calls of C functions that a Modelica library brings along. Desktop only: their code runs in the process of the caller.
 *
 * A wrapper unpacks numbers and texts, calls one function and packs what it gives. pl_foreign_call calls a wrapper so that
 * ModelicaError ends the call, not the process. Objects are numbered in one table of the process: a number belongs to the
 * instance that made it, so a copy of an instance finds that it has none and makes its own.
 */
#ifndef PLIANT_FOREIGN_H
#define PLIANT_FOREIGN_H

#include <stddef.h>

struct pl_text;

typedef struct pl_foreign_data {
    const double *in;        /* numbers, arrays in row-major order, records field by field */
    const char *const *text; /* strings */
    void *const *object;     /* external objects */
    double *out;             /* numbers that the function gives */
    const char **text_out;   /* strings that it gives; valid until pl_foreign_release or the next call */
    void *made;              /* constructors: the object */
    double time;             /* of the call, for what it says; not a number: there is none */
} pl_foreign_data;

typedef void (*pl_foreign_function)(pl_foreign_data *data);

/* 1: fine; 0: the function reported an error, whose text is in said. */
int pl_foreign_call(pl_foreign_function function, pl_foreign_data *data, char *said, size_t room);
void pl_foreign_release(void);

/* Memory until the call ends, for wrappers. */
void *pl_foreign_room(size_t bytes);
/* An Integer as an argument; ModelicaError where it has more than 32 bits. */
int pl_foreign_int(double value);

/* The number of a new object of this owner; 0: the constructor reported an error. */
int pl_object_make(const void *owner, pl_foreign_function constructor, pl_foreign_function destructor,
                   pl_foreign_data *data, char *said, size_t room);
int pl_object_at(int number, const void *owner, void **made); /* 0: the owner has none of this number */
void pl_object_end(int number, const void *owner);
void pl_objects_end(const void *owner); /* all of them */

/* One call in a generated model. */
typedef struct pl_foreign_entry {
    const char *name; /* of the Modelica function */
    int function;     /* number of its wrapper */
    int destructor;   /* constructors: number of the wrapper that ends the object; -1: none */
    int n_in, n_out;  /* numbers given and got */
    int n_lead;   /* numbers before the arguments: is it made at this event, ...; they are not handed over */
    int memory;   /* where the last call is kept: is it valid, its time, what it was given, what it gave */
    int is_pure;  /* equal arguments give equal results */
    int base, by; /* the partial derivative of another entry by an argument; base -1: it is none */
    int slot;     /* constructors: which object of the instance */
    const char *const *text;                                                           /* strings given */
    void (*make)(void *model, const double *in, struct pl_text *s, const char **text); /* those that change */
    int n_objects;
    const int *objects; /* which arguments are objects */
} pl_foreign_entry;

/* Who hears messages (kind 0) and warnings (kind 1) in the thread that gives them, with the time of the call (not a number:
 * there is none); NULL: they go to the standard error output. */
void pl_foreign_listen(void (*heard)(int kind, double time, const char *text));

#endif
