/* Shared by the files of thunkline.h. */
#ifndef API_API_IMPL_H
#define API_API_IMPL_H

#include "thunkline/thunkline.h"
#include "tools/tools.h"

/* ---- structs that grow: options.c ---- */
typedef enum StructFit {
    STRUCT_FITS,
    STRUCT_SIZE, /* its first member is not its size */
    STRUCT_NEWER /* it uses members that are not known here */
} StructFit;
/* Copies the known members of a struct whose first member is its size; the others are
 * zero. least: the size that it must have. */
StructFit struct_take(void *own, size_t size, const void *given, size_t least);

/* Options of a caller, of whom NULL asks for the defaults. False: diagnosed. */
bool api_take(Session *s, const char *what, void *own, size_t size, const void *given);
/* Fills in a caller's struct with the members of `own` that it has room for. `own`
 * begins with a size, too. False: diagnosed. */
bool api_give(Session *s, const char *what, const void *own, size_t size, void *to);
/* Is p not NULL? False: diagnosed. */
bool api_given(Session *s, const char *what, const void *p);
/* The number of a word in "raise|warn|ignore"; NULL is the first. False: diagnosed. */
bool api_word(Session *s, const char *what, const char *words, const char *word,
              int *number);
/* Registers a text, so that messages have a place in it. */
Span api_text(Session *s, const char *what, const char *text);

/* ---- machine.c ---- */
struct TlMachine {
    Graph *g;
    PlanOptions how;
    Plan *plan;
    Machine *m;
    Outputs outputs;   /* labels and variables, by position */
    Var *want;         /* their variables; NULL: the graph's */
    Vec(DimValue) dim; /* set by the host */
    Str text;          /* of tl_machine_get_text */
};
/* A dim of the graph, for a host that gives it a size. False: diagnosed. */
bool api_find_dim(Graph *g, const char *name, int64_t size, Sym *dim);

#endif
