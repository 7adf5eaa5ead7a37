/* Writes values to files, in the format that the name's suffix says. */
#include "value/file/file_impl.h"
#include "value/file/json.h"

#include <string.h>

static bool write_json_values(Session *s, Writer *w, size_t n,
                              const NamedValue *values) {
    Str b = STR(s);
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++) {
        JsonWriter json = {.out = &b};
        str_clear(&b);
        value_json(s, values[i].name, values[i].v, &json);
        str_putc(&b, '\n');
        ok = writer_add(w, str_text(&b), b.n);
    }
    str_free(&b);
    return ok;
}

typedef struct ArrayOutput {
    Session *s;
    const char *path;
    ValueForm form;
    size_t n;
    const NamedValue *value;
} ArrayOutput;

static const struct {
    const char *suffixes;
    bool many;
} forms[VALUE_FORM_N] = {{"", false},
#define FORM(id, name, suffixes, many) {suffixes, many},
                         VALUE_FORMS(FORM)
#undef FORM
};

ValueForm value_form_of(const char *path) {
    for (ValueForm f = VALUE_FORMLESS + 1; f < VALUE_FORM_N; f++)
        if (str_has_suffix(path, strlen(path), forms[f].suffixes)) return f;
    return VALUE_FORMLESS;
}

static bool write_arrays(const ArrayOutput *o, Writer *w, const NamedTensor *arrays) {
    switch (o->form) {
    case VALUE_NPY:
        return npy_write(o->s, w, arrays[0].t);
    case VALUE_CSV:
        return table_write(o->s, w, ',', arrays[0].t);
    case VALUE_TSV:
        return table_write(o->s, w, '\t', arrays[0].t);
    case VALUE_NPZ:
        return npz_write(o->s, w, o->n, arrays);
    case VALUE_SAFETENSORS:
        return safetensors_write(o->s, w, o->n, arrays);
    case VALUE_JSON:
    case VALUE_FORMLESS:
    case VALUE_FORM_N:
        break;
    }
    bug("array format %d", (int)o->form);
}

static bool write_values(const ArrayOutput *o, Writer *w) {
    if (o->form == VALUE_JSON) return write_json_values(o->s, w, o->n, o->value);
    if (o->n == 1 && o->value[0].v->kind == TYPE_SPARSE)
        return npz_write_sparse(o->s, w, o->value[0].v->obj);
    NamedTensor *arrays = mem_zalloc(o->s, o->n, sizeof *arrays);
    for (size_t i = 0; i < o->n; i++)
        arrays[i] = (NamedTensor){o->value[i].name, &o->value[i].v->t};
    bool ok = write_arrays(o, w, arrays);
    mem_free(arrays);
    return ok;
}

/* Can the file's format hold these kinds? */
static bool check_value_kinds(const ArrayOutput *o) {
    for (size_t i = 0; i < o->n && o->form == VALUE_JSON; i++)
        if (!value_readable(o->s, o->value[i].v, false))
            return note(o->s, NOWHERE, "it is %s, for %s", o->value[i].name, o->path);
    for (size_t i = 0; i < o->n && o->form != VALUE_JSON; i++) {
        const Value *v = o->value[i].v;
        bool sparse = v->kind == TYPE_SPARSE && o->form == VALUE_NPZ;
        if (v->kind == TYPE_TENSOR || (sparse && o->n == 1)) continue;
        if (sparse)
            return fail(o->s, NOWHERE, E_USAGE,
                        "%s: an npz file holds one sparse matrix and nothing else",
                        o->path);
        Str what = STR(o->s);
        value_describe(o->s, v, &what);
        fail(o->s, NOWHERE, E_USAGE, "%s: %s is %s, which a %s file can't hold",
             o->path, o->value[i].name, str_text(&what), forms[o->form].suffixes);
        str_free(&what);
        return note(o->s, NOWHERE,
                    v->kind == TYPE_SPARSE ? "use .npz or .json" : "use .json");
    }
    return true;
}

static bool find_value_form(Session *s, const char *path, size_t n, ValueForm *out) {
    *out = value_form_of(path);
    if (*out == VALUE_FORMLESS)
        return fail(s, NOWHERE, E_USAGE,
                    "%s: the suffix of a file of arrays must be one of %s", path,
                    VALUE_SUFFIXES);
    return n == 1 || forms[*out].many ||
           fail(s, NOWHERE, E_USAGE,
                "%s holds one array, not %zu; use .npz, .json or .safetensors", path,
                n);
}

bool values_check_path(Session *s, const char *path, size_t n) {
    ValueForm form;
    return find_value_form(s, path, n, &form);
}

bool values_write_to(Session *s, Writer *w, const char *path, size_t n,
                     const NamedValue *values) {
    ArrayOutput o = {s, path, VALUE_FORMLESS, n, values};
    return find_value_form(s, path, n, &o.form) && check_value_kinds(&o) &&
           write_values(&o, w);
}

bool values_write(Session *s, const char *path, size_t n, const NamedValue *values) {
    ArrayOutput o = {s, path, VALUE_FORMLESS, n, values};
    if (!find_value_form(s, path, n, &o.form)) return false;
    Writer *w = check_value_kinds(&o) ? writer_open(s, path) : NULL;
    if (!w) return false;
    if (write_values(&o, w)) return writer_commit(w);
    writer_abort(w);
    return false;
}

bool array_write(Session *s, const char *path, size_t n, const NamedTensor *arrays) {
    Value *v = mem_zalloc(s, n, sizeof *v);
    NamedValue *named = mem_zalloc(s, n, sizeof *named);
    for (size_t i = 0; i < n; i++) {
        v[i].kind = TYPE_TENSOR;
        v[i].t = *arrays[i].t; /* borrowed */
        named[i] = (NamedValue){arrays[i].name, &v[i]};
    }
    bool ok = values_write(s, path, n, named);
    mem_free(v);
    mem_free(named);
    return ok;
}

void json_put_value(Session *s, JsonWriter *w, const char *key, const Value *v) {
    bool lists = v->kind == TYPE_TENSOR && (v->t.ndim < 2 || tensor_size(&v->t) > 0);
    if (lists) {
        tensor_json_data(s, key, &v->t, w);
        return;
    }
    json_put_key(w, key);
    value_json(s, NULL, v, w);
}
