#include "tools/grun/digest.h"

#include "value/class.h"

const char *digest_value(Session *s, Arena *a, const Value *v) {
    Sha256 x;
    char hex[SHA256_HEX + 1];
    Str head = STR(s);
    sha256_init(&x);
    if (v->kind == TYPE_TENSOR) {
        Tensor packed;
        if (!tensor_clone(s, &v->t, &packed)) return NULL;
        str_puts(&head, dtype_name(v->t.dtype));
        shape_text(s, v->t.ndim, v->t.shape, &head);
        sha256_add(&x, packed.data, tensor_bytes(&packed));
        tensor_unref(&packed);
    } else {
        Str text = STR(s);
        str_puts(&head, "value");
        value_text(s, v, -1, &text);
        sha256_add(&x, str_text(&text), text.n);
        str_free(&text);
    }
    sha256_end(&x, hex);
    const char *made = arena_printf(a, "%s sha256:%s", str_text(&head), hex);
    str_free(&head);
    return made;
}

bool digest_graph(const Graph *g, Sha256 *x, char hex[SHA256_HEX + 1]) {
    Str text = STR(g->s);
    WriteOptions form = {.format = IO_TLG, .no_provenance = true, .pack = true};
    Graph *copy =
        graph_copy(g, ROOTS_RUN | ROOTS_INIT | ROOTS_NAMED, NULL, false, NULL);
    bool ok = io_text(copy, &form, &text);
    sha256_init(x);
    sha256_add(x, str_text(&text), text.n);
    sha256_end(x, hex);
    str_free(&text);
    graph_free(copy);
    return ok;
}
