/* The bytes of tensors: in the model, or in files beside it. */
#include "io/onnx/onnx_impl.h"

#include <stdlib.h>

static bool fail_data(OnnxReading *r, const OnnxTensor *t, DiagCode code,
                      const char *why) {
    Str name = STR(r->s);
    str_visible(&name, t->name.p ? t->name.p : "", t->name.n);
    fail(r->s, NOWHERE, code, "%s: the data of '%s' %s", r->in->name, str_text(&name),
         why);
    str_free(&name);
    return false;
}

static bool read_entry_number(OnnxReading *r, const OnnxTensor *t, const OnnxEntry *e,
                              uint64_t *v) {
    bool overflow = false;
    size_t n = num_read_uint(e->value.p, e->value.n, v, &overflow);
    return (n && n == e->value.n && !overflow) ||
           fail_data(r, t, E_FORMAT, "has an offset or a length that is no number");
}

static bool external_bytes(OnnxReading *r, const OnnxTensor *t, ElementUse use,
                           OnnxBytes *out) {
    const char *path = NULL;
    uint64_t offset = 0, length = UINT64_MAX;
    for (size_t i = 0; i < t->external.n; i++) {
        const OnnxEntry *e = &t->external.p[i];
        if (proto_text_is(e->key, "location")) path = onnx_text(r, e->value);
        if (proto_text_is(e->key, "offset") && !read_entry_number(r, t, e, &offset))
            return false;
        if (proto_text_is(e->key, "length") && !read_entry_number(r, t, e, &length))
            return false;
    }
    if (!path)
        return fail_data(r, t, E_FORMAT, "is in another file, but no file is named");
    if (!r->files.folder)
        return fail_data(r, t, E_IO,
                         "is in another file: a model that comes through a pipe can't "
                         "name files");
    const DataFile *f = data_file(&r->files, path);
    if (!f) return false;
    if (offset > f->data.n || (length != UINT64_MAX && length > f->data.n - offset))
        return fail_data(r, t, E_TRUNCATED, "lies beyond the end of its file");
    *out = (OnnxBytes){.file = r->in->name, .p = f->data.p + offset};
    out->n = length == UINT64_MAX ? f->data.n - (size_t)offset : (size_t)length;
    out->use = use;
    if (use != ELEMENTS_COMPUTED)
        out->buf = buffer_ref(f->buf); /* else it is copied: others may
                                        * write to the array */
    return true;
}

/* In place if its layout allows; what is small is copied, to let the file go. */
static bool model_bytes(OnnxReading *r, const OnnxTensor *t, ElementUse use,
                        OnnxBytes *out) {
    enum { SHARE_FROM = 1 << 16 };
    *out = (OnnxBytes){.file = r->in->name};
    if (!t->has_raw) return true;
    out->p = (const unsigned char *)t->raw.p;
    out->n = t->raw.n;
    bool share = out->n >= SHARE_FROM && input_is_shareable(r->in);
    out->buf = share ? input_share(r->in, use) : NULL;
    out->use = use;
    return true;
}

bool onnx_value(OnnxReading *r, const OnnxTensor *t, ElementUse use, Tensor *out) {
    enum { OUTSIDE = 1 };
    OnnxBytes from;
    if (!(t->location == OUTSIDE ? external_bytes(r, t, use, &from)
                                 : model_bytes(r, t, use, &from)))
        return false;
    bool ok = onnx_tensor_value(r->s, t, &from, out);
    buffer_unref(from.buf);
    return ok;
}
