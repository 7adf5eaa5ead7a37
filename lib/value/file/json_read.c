/* Arrays in JSON: an object with dtype and data, as thunkline writes values, several of
 * them one after the other; nested lists or a number, as others write them; or an
 * object whose members are such arrays. */
#include "value/file/json.h"
#include "value/file/number.h"

#include <string.h>

typedef struct JsonEntry {
    const char *name; /* NULL: none */
    JsonReader data;  /* where its lists begin */
    DType dtype;      /* DT_NONE: it doesn't say */
    int ndim;         /* -1: it doesn't say */
    int64_t shape[MAX_NDIM];
} JsonEntry;

typedef struct JsonFile {
    const ArrayFile *f;
    JsonReader j;
    Vec(JsonEntry) entries;
    const Type *to; /* who receives the array of a line; NULL: it is a file */
} JsonFile;

static bool fail_json_as(const JsonFile *h, const JsonReader *j, DiagCode code,
                         const char *what) {
    if (h->to) return array_fail(h->f, code, "%s", what);
    return array_fail(h->f, code, "line %u: %s", j->line, what);
}

static bool fail_json_at(const JsonFile *h, const JsonReader *j, const char *what) {
    return fail_json_as(h, j, E_FORMAT, what);
}

/* ---- what the file holds ---- */

typedef struct JsonMember {
    const char *key;
    JsonReader value;
} JsonMember;
typedef Vec(JsonMember) JsonMembers;

static bool read_members(JsonFile *h, JsonReader *j, JsonMembers *out) {
    JsonText key;
    if (!json_want(j, '{', "expected an object")) return false;
    for (size_t n = 0; json_item(j, '}', &n);) {
        if (!json_key(j, &key)) return false;
        vec_push(h->f->s, out, ((JsonMember){key.p, *j}));
        if (!json_skip(j)) return false;
    }
    return !j->wrong;
}

static const JsonMember *find_member(const JsonMembers *m, const char *key) {
    for (size_t i = m->n; i-- > 0;)
        if (strcmp(m->p[i].key, key) == 0) return &m->p[i];
    return NULL;
}

static bool read_entry_dtype(JsonFile *h, JsonReader j, JsonEntry *e) {
    JsonText name;
    if (!json_string(&j, &name)) return fail_json_at(h, &j, "dtype must be a text");
    e->dtype = dtype_find(name.p, name.n);
    if (e->dtype != DT_NONE) return true;
    const char *why = arena_printf(j.a, "the dtype %s is not known", name.p);
    return fail_json_as(h, &j, E_DTYPE, why);
}

static bool read_entry_shape(JsonFile *h, JsonReader j, JsonEntry *e) {
    static const char wrong[] = "the shape must be a list of sizes";
    const char *p;
    size_t n;
    uint64_t v;
    if (!json_take(&j, '[')) return fail_json_at(h, &j, wrong);
    e->ndim = 0;
    for (size_t i = 0; json_item(&j, ']', &i); e->ndim++) {
        if (e->ndim == MAX_NDIM)
            return array_fail(h->f, E_LIMIT, TOO_MANY_DIMS, MAX_NDIM);
        bool ok = json_scalar(&j, &p, &n) &&
                  number_store(DT_UINT64, p, n, &v) == NUMBER_STORED && v <= INT64_MAX;
        if (!ok) return fail_json_at(h, &j, wrong);
        e->shape[e->ndim] = (int64_t)v;
    }
    return !j.wrong || fail_json_at(h, &j, j.wrong);
}

static bool add_array(JsonFile *h, const char *name, const JsonMembers *m,
                      const JsonMember *dtype, const JsonMember *data) {
    JsonEntry e = {.name = name, .ndim = -1};
    const JsonMember *own = find_member(m, "name"), *shape = find_member(m, "shape");
    JsonText text;
    JsonReader at = own ? own->value : h->j;
    if (own && json_next_is(&at, '"') && json_string(&at, &text)) e.name = text.p;
    e.data = data->value;
    if (!read_entry_dtype(h, dtype->value, &e) ||
        (shape && !read_entry_shape(h, shape->value, &e)))
        return false;
    vec_push(h->f->s, &h->entries, e);
    return true;
}

static bool is_text(const JsonMember *m) {
    JsonReader at = m->value;
    return json_next_is(&at, '"');
}

/* An array with its dtype, or (at the top) arrays by name. What else there may be is
 * looked at when it is asked for. */
static bool add_entry(JsonFile *h, const char *name, JsonReader *j, bool top) {
    JsonEntry e = {.name = name, .data = *j, .dtype = DT_NONE, .ndim = -1};
    JsonMembers m = {0};
    bool object = json_next_is(j, '{');
    bool ok = object ? read_members(h, j, &m) : json_skip(j);
    if (!ok) fail_json_at(h, j, j->wrong);
    const JsonMember *dtype = find_member(&m, "dtype"), *data = find_member(&m, "data");
    bool array = ok && dtype && data && is_text(dtype);
    if (array)
        ok = add_array(h, name, &m, dtype, data);
    else if (ok && !(object && top))
        vec_push(h->f->s, &h->entries, e);
    for (size_t i = 0; ok && object && top && !array && i < m.n; i++)
        ok = add_entry(h, m.p[i].key, &m.p[i].value, false);
    vec_free(&m);
    return ok;
}

static bool read_entries(JsonFile *h) {
    while (!json_at_end(&h->j))
        if (!add_entry(h, NULL, &h->j, true)) return false;
    return true;
}

/* ---- one array ---- */

/* What nested lists look like: their lengths by depth, and their elements. */
typedef struct JsonShape {
    int64_t length[MAX_NDIM + 2]; /* -1: not met */
    int lists, leaf;              /* depth of the deepest list and of the elements */
    bool floats, bools, ints, negative, large;
    bool words; /* texts that are no numbers */
} JsonShape;

typedef struct JsonElement {
    const char *p;
    size_t n;
    bool text;
} JsonElement;

static bool read_element(JsonReader *j, JsonElement *e) {
    JsonText text;
    e->text = json_next_is(j, '"');
    if (!e->text) return json_scalar(j, &e->p, &e->n);
    if (!json_string(j, &text)) return false;
    e->p = text.p;
    e->n = text.n;
    return true;
}

static void classify_element(const JsonElement *e, JsonShape *m) {
    uint64_t u;
    int64_t v;
    double f;
    bool boolean = !e->text && (*e->p == 't' || *e->p == 'f');
    bool number = !e->text && (*e->p == '-' || ascii_is_digit(*e->p));
    bool whole = number && !memchr(e->p, '.', e->n) && !memchr(e->p, 'e', e->n) &&
                 !memchr(e->p, 'E', e->n);
    bool fits = whole && number_store(DT_INT64, e->p, e->n, &v) == NUMBER_STORED;
    bool large =
        whole && !fits && number_store(DT_UINT64, e->p, e->n, &u) == NUMBER_STORED;
    m->bools |= boolean;
    m->ints |= fits || large;
    m->large |= large;
    m->negative |= number && *e->p == '-';
    m->floats |= !boolean && !fits && !large;
    m->words |= e->text && number_store(DT_FLOAT64, e->p, e->n, &f) != NUMBER_STORED;
}

static bool measure_lists(JsonReader *j, int depth, JsonShape *m) {
    JsonElement e;
    if (!json_take(j, '[')) {
        if (depth != m->lists + 1)
            return json_fail(j, "an element where the others are lists");
        m->leaf = depth;
        if (!read_element(j, &e)) return false;
        return classify_element(&e, m), true;
    }
    if (m->leaf >= 0 && depth >= m->leaf)
        return json_fail(j, "a list where the others are elements");
    if (depth > MAX_NDIM) return json_fail(j, "the lists are nested too deeply");
    if (depth > m->lists) m->lists = depth;
    size_t n = 0;
    while (json_item(j, ']', &n))
        if (!measure_lists(j, depth + 1, m)) return false;
    if (j->wrong) return false;
    if (m->length[depth] < 0) m->length[depth] = (int64_t)n;
    return m->length[depth] == (int64_t)n ||
           json_fail(j, "the list has another length than those before it");
}

/* As a list of literals has it, but exact beyond int64. */
static DType natural_dtype(const JsonShape *m) {
    if (m->floats || (m->large && m->negative)) return DT_FLOAT64;
    if (m->ints) return m->large ? DT_UINT64 : DT_INT64;
    return m->bools ? DT_BOOL : DT_FLOAT64;
}

/* The elements in order; the lists were measured. */
static bool fill_elements(const JsonFile *h, JsonReader *j, DType d, char **dst) {
    JsonElement e;
    if (json_take(j, '[')) {
        for (size_t n = 0; json_item(j, ']', &n);)
            if (!fill_elements(h, j, d, dst)) return false;
        return true;
    }
    if (!read_element(j, &e)) return fail_json_at(h, j, j->wrong);
    NumberResult k = number_store(d, e.p, e.n, *dst);
    *dst += dtype_size(d);
    if (k == NUMBER_STORED) return true;
    Str why = STR(h->f->s);
    number_explain(k, d, e.p, e.n, &why);
    fail_json_at(h, j, str_text(&why));
    str_free(&why);
    return false;
}

static bool has_shape(const JsonEntry *e, int ndim, const int64_t *shape) {
    bool same = e->ndim == ndim, empty = ndim == 1 && shape[0] == 0, zero = false;
    for (int i = 0; same && i < ndim; i++)
        same = e->shape[i] == shape[i];
    for (int i = 0; i < e->ndim; i++)
        zero |= e->shape[i] == 0;
    return e->ndim < 0 || same || (empty && zero);
}

/* Do lists that are one deeper than the receiver's dims hold complex numbers? */
static bool are_pairs(const JsonFile *h, const JsonShape *m) {
    return h->to && dtype_is_complex(h->to->dtype) && m->lists == h->to->ndim;
}

/* The form that an entry will be read in; *m has the shape of its lists. */
typedef struct JsonForm {
    DType dtype;
    int ndim;
    const int64_t *shape;
} JsonForm;

static bool find_form(JsonFile *h, const JsonEntry *e, JsonShape *m, JsonForm *out) {
    JsonReader j = e->data;
    DType d = e->dtype, want = h->f->what->want;
    *m = (JsonShape){.lists = -1, .leaf = -1};
    for (int i = 0; i < MAX_NDIM + 2; i++)
        m->length[i] = -1;
    if (!measure_lists(&j, 0, m)) return fail_json_at(h, &j, j.wrong);
    if (d == DT_NONE && are_pairs(h, m)) d = want;
    if (d == DT_NONE) {
        d = natural_dtype(m);
        bool takes = want != DT_NONE && d != dtype_real(want);
        h->f->what->converted = takes;
        if (takes) d = dtype_real(want);
    }
    bool complex = dtype_is_complex(d);
    int ndim = m->lists + 1;
    if (complex && m->leaf > 0 && m->length[m->leaf - 1] == 2)
        ndim--;
    else if (complex && m->leaf >= 0)
        return fail_json_at(h, &e->data, "a complex number is a list of two");
    if (ndim > MAX_NDIM) return array_fail(h->f, E_LIMIT, TOO_MANY_DIMS, MAX_NDIM);
    if (!has_shape(e, ndim, m->length))
        return fail_json_at(h, &e->data, "the data has another shape than it says");
    bool says = e->ndim >= 0;
    *out = (JsonForm){d, says ? e->ndim : ndim, says ? e->shape : m->length};
    return true;
}

/* *end is behind it. */
static bool read_entry(JsonFile *h, const JsonEntry *e, Tensor *out, JsonReader *end) {
    JsonShape m;
    JsonForm form;
    *end = e->data;
    if (!find_form(h, e, &m, &form) ||
        !tensor_new(h->f->s, form.dtype, form.ndim, form.shape, out))
        return false;
    char *dst = out->data;
    if (fill_elements(h, end, dtype_real(form.dtype), &dst)) return true;
    tensor_unref(out);
    return false;
}

static bool pick_entry(JsonFile *h, const char *key, Tensor *out) {
    size_t n = h->entries.n;
    const JsonEntry *e = n == 1 && !key ? h->entries.p : NULL;
    for (size_t i = 0; key && i < n; i++)
        if (h->entries.p[i].name && strcmp(h->entries.p[i].name, key) == 0)
            e = &h->entries.p[i];
    JsonReader end;
    if (e) return read_entry(h, e, out, &end);
    const char **name = mem_alloc(h->f->s, (n + 1) * sizeof *name);
    size_t named = 0;
    for (size_t i = 0; i < n; i++)
        if (h->entries.p[i].name) name[named++] = h->entries.p[i].name;
    if (named < n && !key)
        array_fail(h->f, E_FORMAT, "it holds %zu values one after the other, not one",
                   n);
    else
        array_fail_no_name(h->f, "array", key, &(Names){name, named});
    mem_free(name);
    return false;
}

static bool open_json(const ArrayFile *f, JsonFile *h) {
    const char *p = (const char *)f->p;
    size_t bom = f->n >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    *h = (JsonFile){.f = f,
                    .j = json_reader(f->s, arena_new(f->s), p + bom, f->n - bom)};
    return read_entries(h);
}

static void close_json(JsonFile *h) {
    vec_free(&h->entries);
    arena_free(h->j.a);
}

bool json_array_read(const ArrayFile *f, const char *key, Tensor *out) {
    JsonFile h;
    bool ok = open_json(f, &h) && pick_entry(&h, key, out);
    close_json(&h);
    return ok;
}

/* Objects are read twice: for where their members are, then for these. */
static bool read_array_object(JsonFile *h, JsonReader *j, Tensor *out) {
    JsonReader end;
    if (!add_entry(h, NULL, j, false)) return false;
    const JsonEntry *e = h->entries.p;
    return e->dtype == DT_NONE
               ? fail_json_at(h, j, "an object is an array if it has dtype and data")
               : read_entry(h, e, out, &end);
}

bool json_array_next(JsonReader *j, const char *name, const Type *want, Tensor *out) {
    Selection what = {.want = want->dtype, .at = NOWHERE};
    ArrayFile f = {.s = j->s, .name = name, .at = NOWHERE, .what = &what};
    JsonFile h = {.f = &f, .j = *j, .to = want};
    JsonEntry e = {.data = *j, .dtype = DT_NONE, .ndim = -1};
    bool ok = json_next_is(j, '{') ? read_array_object(&h, j, out)
                                   : read_entry(&h, &e, out, j);
    vec_free(&h.entries);
    return ok;
}

/* Members that are no arrays stand there without a type. */
bool json_array_list(const ArrayFile *f, ValueList *l) {
    JsonFile h;
    bool ok = open_json(f, &h);
    for (size_t i = 0; ok && i < h.entries.n; i++) {
        JsonShape m;
        JsonForm form;
        const JsonEntry *e = &h.entries.p[i];
        size_t mark = diag_count(f->s);
        const char *name = e->name ? arena_str(l->a, e->name, strlen(e->name)) : NULL;
        if (find_form(&h, e, &m, &form)) {
            DType d = m.words ? DT_NONE : form.dtype;
            ValueInfo *v = value_list_add(f->s, l, name, d, form.ndim, form.shape);
            if (m.words) v->dtype = "text";
            continue;
        }
        diag_rewind(f->s, mark);
        value_list_add(f->s, l, name, DT_NONE, 0, NULL);
    }
    close_json(&h);
    return ok;
}
