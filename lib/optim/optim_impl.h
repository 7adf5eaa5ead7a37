/* Shared by the files of lib/optim. */
#ifndef OPTIM_OPTIM_IMPL_H
#define OPTIM_OPTIM_IMPL_H

#include "lang/compile_impl.h"
#include "optim/optim.h"

/* The name under which expressions find a schedule: no variable can have it. */
Sym optim_schedule_sym(Session *s, const OptimRow *row);
/* A copy in which calls of schedules are calls of these names. */
const Ast *optim_link_schedules(Session *s, Arena *a, const Ast *e);
/* Does the value depend on the step, directly or through schedules? */
bool optim_reads_step(Session *s, const Ast *e);
/* Fails with what is near the unknown name. */
bool optim_fail_unknown(Session *s, Span at, const char *name);

#endif
