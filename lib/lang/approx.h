/* Comparison overrides as text: "rtol=0.001, remove_nan=True". */
#ifndef LANG_APPROX_H
#define LANG_APPROX_H

#include "op/build.h"

/* Keywords rtol, atol (numbers), sloppy (0, 1, 2), remove_inf, remove_nan (True,
 * False); the type's values hold for all others. False: diagnosed. */
bool approx_read(Session *s, Span text, Approx *out);
/* Writes nothing if all values are the type's. */
void approx_write(const Approx *how, Str *out);

#endif
