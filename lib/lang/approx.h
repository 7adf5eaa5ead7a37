/* Comparison overrides as text: "rtol=0.001, remove_nan=True". */
#ifndef LANG_APPROX_H
#define LANG_APPROX_H

#include "op/build.h"

/* Keywords rtol, atol (numbers), sloppy (0, 1, 2), remove_inf, remove_nan (True,
 * False); what is not mentioned is as the type says. False: diagnosed. */
bool approx_read(Session *s, Span text, Approx *out);
/* Empty when nothing differs from the type's. */
void approx_write(const Approx *how, Str *out);

#endif
