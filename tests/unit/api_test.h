/* What the tests of the public interface share: it alone, as a program outside sees
 * it. */
#ifndef API_TEST_H
#define API_TEST_H

#include "test.h"
#include "thunkline/thunkline.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static inline TlArray vector(double *data, int64_t n) {
    return (TlArray){
        .dtype = "float64", .ndim = 1, .shape = {n}, .stride = {8}, .data = data};
}

/* NAN: there is no such number; the errors say why. */
static inline double scalar(TlMachine *m, const char *name) {
    TlArray a;
    return tl_machine_get(m, name, &a) && a.ndim == 0 ? *(double *)a.data : (double)NAN;
}

static inline TlGraph *graph_of(TlSession *s, const char *text) {
    TlGraph *g = tl_graph_read_memory(s, text, strlen(text));
    CHECK(g != NULL, "%s", tl_error(s));
    return g;
}

/* The call failed with this status, and its messages hold the text. */
static inline void check_refused(TlSession *s, bool refused, int status,
                                 const char *text) {
    int got = tl_status(s);
    const char *why = tl_error(s);
    CHECK(refused, "it should fail with: %s", text);
    CHECK(got == status && strstr(why, text), "status %d: \"%s\", not \"%s\"", got, why,
          text);
}
#define REFUSED(s, call, status, text) check_refused(s, !(call), status, text)

#endif
