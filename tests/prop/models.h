/* Models of ONNX to try things on: the examples of all ops, and those of
 * tests/data/onnx. */
#ifndef PROP_MODELS_H
#define PROP_MODELS_H

#include "../unit/test.h"
#include "ad/ad.h"
#include "example.h"
#include "format/unpack.h"
#include "io/io.h"
#include "os/file.h"
#include "vm/vm.h"

#include <glob.h>
#include <stdlib.h>

/* The bytes of a model, in the session `s`. */
typedef void ModelTest(const char *name, const uint8_t *p, size_t n);

enum { RENEW = 400, MODEL_MOST = 1 << 15 };
static Session *s;
static size_t trials; /* that the test counts: after RENEW of them, s is a new one */

static void open_session(void) {
    s = session_new(NULL, NULL);
    session_options(s)->threads = 1;
    session_options(s)->max_memory = 1 << 28;
    vm_open(s);
    ad_open(s);
}

static void try_example(const Op *op, ModelTest *test) {
    const char *arrow = op->example ? strstr(op->example, " -> ") : NULL;
    if (!arrow) return;
    Graph *g = example_graph(
        s, arena_str(session_arena(s), op->example, (size_t)(arrow - op->example)));
    Str bytes = STR(s);
    bool written = g && io_text(g, &(WriteOptions){.format = IO_ONNX}, &bytes);
    graph_free(g);
    diag_clear(s);
    if (written && bytes.n < MODEL_MOST)
        test(op->name, (const uint8_t *)bytes.p, bytes.n);
    str_free(&bytes);
}

static void try_file(const char *path, ModelTest *test) {
    FileData d;
    Unpacked u = {NULL, 0};
    bool there = file_read(s, path, 0, &d);
    CHECK(there, "%s can't be read", path);
    if (!there) return;
    bool packed = unpack_is_packed(d.p, d.n),
         ok = !packed || unpack_all(s, &(Packed){path, NOWHERE, d.p, d.n, 1 << 24}, &u);
    CHECK(ok, "%s can't be unpacked", path);
    size_t n = packed ? u.n : d.n;
    if (ok && n < MODEL_MOST) test(path, packed ? u.p : d.p, n);
    if (u.p) free(u.p);
    file_close(&d);
}

static void models_each(ModelTest *test) {
    static const char *const folders[] = {"tests/data/onnx/*.onnx",
                                          "tests/data/onnx/ml/*.onnx.zst"};
    open_session();
    size_t nop = op_count(s), since = 0;
    for (size_t i = 0; i < nop; i++) {
        if (trials - since > RENEW) {
            session_free(s);
            open_session();
            since = trials;
        }
        try_example(op_get(s, i), test);
    }
    for (size_t k = 0; k < sizeof folders / sizeof *folders; k++) {
        glob_t found;
        CHECK(glob(folders[k], 0, NULL, &found) == 0, "%s: no such files", folders[k]);
        for (size_t i = 0; i < found.gl_pathc; i++) {
            session_free(s);
            open_session();
            try_file(found.gl_pathv[i], test);
        }
        globfree(&found);
    }
    session_free(s);
}

static inline size_t errors_of(Session *of) {
    size_t n = 0;
    for (size_t i = 0; i < diag_count(of); i++)
        n += diag_get(of, i)->severity == DIAG_ERROR;
    return n;
}

#endif
