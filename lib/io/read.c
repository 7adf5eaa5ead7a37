/* Reads a graph in any form; the first bytes decide which. */
#include "base/embedded.h"
#include "io/io_impl.h"
#include "optim/optim.h"

#include <string.h>

static const unsigned char tlg_magic[3] = {0xD9, 0xD9, 0xF7};

/* Sources have LF line ends and no byte order mark, so that all spans count the same
 * bytes. */
static uint32_t add_source(Session *s, const Input *in) {
    const char *p = (const char *)in->p;
    size_t n = in->n;
    if (n >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0) {
        p += 3;
        n -= 3;
    }
    if (!memchr(p, '\r', n)) return source_add(s, in->name, p, n);
    char *copy = mem_alloc(s, n + 1);
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\r' && i + 1 < n && p[i + 1] == '\n') continue;
        copy[k++] = p[i] == '\r' ? '\n' : p[i];
    }
    uint32_t source = source_add(s, in->name, copy, k);
    mem_free(copy);
    return source;
}

static bool looks_like_json(const Source *src) {
    size_t n = strspn(src->text, " \t\n");
    return src->text[n] == '{';
}

/* NULL: diagnosed */
static const Doc *parse_text_input(Session *s, Input *in, Arena *a, const char *what) {
    if (in->n >= UINT32_MAX) {
        fail(s, NOWHERE, E_LIMIT,
             "%s: a text of more than 4 GiB; the binary form has no such limit",
             in->name);
        return NULL;
    }
    if (memchr(in->p, 0, in->n)) {
        fail(s, NOWHERE, E_FORMAT, "%s is %s", in->name, what);
        return NULL;
    }
    uint32_t source = add_source(s, in);
    return looks_like_json(source_get(s, source)) ? json_read(s, a, source)
                                                  : yaml_read(s, a, source);
}

Graph *text_read(Session *s, Input *in, const char *folder, const ReadOptions *o) {
    Arena *a = arena_new(s);
    const Doc *root = parse_text_input(s, in, a, "neither a graph nor text");
    Graph *g = root ? doc_graph(s, root, folder, o) : NULL;
    uint32_t source = g ? root->at.source : 0;
    if (g && !looks_like_json(source_get(s, source))) g->source = source;
    arena_free(a);
    return g;
}

bool io_read_ops(Session *s, const char *path) {
    Input *in = input_open(s, path, NULL, 0, 0);
    if (!in) return false;
    Arena *a = arena_new(s);
    const Doc *root = parse_text_input(s, in, a, "no text");
    bool ok = root && doc_ops(s, in->name, root);
    if (!root && memchr(in->p, 0, in->n)) hint(s, HINT_PLUGIN);
    if (ok) session_log(s, "read the ops of %s", in->name);
    arena_free(a);
    input_close(in);
    return ok;
}

bool io_read_shipped_optimizers(Session *s) {
    if (optim_count(s)) return true;
    bool ok = true;
    for (size_t i = 0; ok && optim_texts[i].file; i++) {
        const EmbeddedText *t = &optim_texts[i];
        Arena *a = arena_new(s);
        const Doc *root =
            yaml_read(s, a, source_add(s, t->file, t->text, strlen(t->text)));
        ok = root && doc_optim(s, t->file, root);
        arena_free(a);
    }
    return ok;
}

enum { LARGE_INPUT = 1 << 20 }; /* bytes, of graphs that take several times as much */

static Graph *read_input(Session *s, Input *in, const char *folder,
                         const ReadOptions *o) {
    if (!in) return NULL;
    if (in->n >= LARGE_INPUT) mem_expect_large_graph(s);
    /* a bare prefix of the magic is a truncated file, not a text */
    bool tlg = in->n && memcmp(in->p, tlg_magic, in->n < 3 ? in->n : 3) == 0;
    bool onnx = !tlg && onnx_is_model(in->p, in->n);
    session_log(s, "read %s: %s, %zu bytes", in->name,
                tlg    ? "tlg"
                : onnx ? "ONNX"
                       : "text",
                in->n);
    Graph *g = tlg    ? tlg_read(s, in, folder, o)
               : onnx ? onnx_read(s, in, folder, o)
                      : text_read(s, in, folder, o);
    input_close(in);
    return g;
}

Graph *io_read(Session *s, const char *path, const ReadOptions *o) {
    ReadOptions standard = READ_DEFAULT;
    if (!o) o = &standard;
    Arena *a = arena_new(s);
    const char *folder = o->folder                ? o->folder
                         : strcmp(path, "-") == 0 ? NULL
                                                  : refs_folder_of(a, path);
    if (o->refuse_load) folder = NULL;
    Graph *g = read_input(s, input_open(s, path, NULL, 0, o->max_bytes), folder, o);
    arena_free(a);
    return g;
}

Graph *io_read_mem(Session *s, const char *name, const void *p, size_t n,
                   const ReadOptions *o) {
    ReadOptions standard = READ_DEFAULT;
    if (!o) o = &standard;
    return read_input(s, input_open(s, name, p ? p : "", n, o->max_bytes),
                      o->refuse_load ? NULL : o->folder, o);
}

Graph *io_new(Session *s, const ReadOptions *o) {
    Graph *g = graph_new(s);
    if (o) g->floatX = o->floatX;
    if (o && o->folder) g->folder = arena_str(g->arena, o->folder, strlen(o->folder));
    return g;
}
