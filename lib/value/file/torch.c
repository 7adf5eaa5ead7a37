/* State dicts that PyTorch's torch.save writes: a zip archive with a pickle, data.pkl,
 * of dicts and tensors, whose elements are members of their own, data/0 and so on.
 * Nothing in the pickle is run; whatever is no part of a state dict is refused by its
 * name. */
#include "value/file/pickle.h"
#include "value/file/zip.h"

#include <string.h>

enum { DEPTH_MAX = 64, VISITS_MAX = 1 << 20, NAMES_MAX = 1 << 30 /* bytes */ };

typedef struct TorchDType {
    const char *storage;
    DType dtype;
    bool bfloat16;
} TorchDType;
static const TorchDType storages[] = {
    {"FloatStorage", DT_FLOAT32, false},
    {"DoubleStorage", DT_FLOAT64, false},
    {"HalfStorage", DT_FLOAT16, false},
    {"BFloat16Storage", DT_FLOAT32, true},
    {"LongStorage", DT_INT64, false},
    {"IntStorage", DT_INT32, false},
    {"ShortStorage", DT_INT16, false},
    {"CharStorage", DT_INT8, false},
    {"ByteStorage", DT_UINT8, false},
    {"BoolStorage", DT_BOOL, false},
    {"ComplexFloatStorage", DT_COMPLEX64, false},
    {"ComplexDoubleStorage", DT_COMPLEX128, false},
};
enum { STORAGES = sizeof storages / sizeof *storages };

/* ---- what the names mean ---- */

/* Pickle.text of what the rules make; its `i`: a tensor's first element, the number of
 * a dtype. */
static const char is_type[] = "type", is_storage[] = "storage", is_tensor[] = "tensor";

/* The functions and classes that are called. */
typedef Pickle *CallFn(const ArrayFile *f, Arena *a, const Pickle *args);

static Pickle *fail_call(const ArrayFile *f, const char *what) {
    array_fail(f, E_FORMAT, "the pickle is damaged: %s", what);
    return NULL;
}

static bool is_ints(const Pickle *o) {
    for (size_t i = 0; i < o->n; i++)
        if (o->item[i]->kind != PICKLE_INT) return false;
    return o->kind == PICKLE_TUPLE || o->kind == PICKLE_LIST;
}

static bool is_made(const Pickle *o, const char *what) {
    return o->kind == PICKLE_OTHER && o->text == what;
}

/* (storage, offset, size, stride, ...): a tensor has these items. */
static Pickle *call_rebuild_tensor(const ArrayFile *f, Arena *a, const Pickle *args) {
    if (args->n < 4 || !is_made(args->item[0], is_storage) ||
        args->item[1]->kind != PICKLE_INT || !is_ints(args->item[2]) ||
        !is_ints(args->item[3]) || args->item[2]->n != args->item[3]->n)
        return fail_call(f, "a tensor is a storage, an offset, sizes and strides");
    if (args->item[2]->n > MAX_NDIM) {
        array_fail(f, E_LIMIT, TOO_MANY_DIMS, MAX_NDIM);
        return NULL;
    }
    Pickle *t = pickle_new(a, PICKLE_OTHER);
    t->text = is_tensor;
    t->item = args->item;
    t->n = 4;
    return t;
}

static Pickle *call_rebuild_parameter(const ArrayFile *f, Arena *a,
                                      const Pickle *args) {
    if (args->n < 1 || !is_made(args->item[0], is_tensor))
        return fail_call(f, "a parameter is a tensor");
    Pickle *t = pickle_new(a, PICKLE_OTHER);
    *t = *args->item[0];
    return t;
}

static Pickle *call_dict(const ArrayFile *f, Arena *a, const Pickle *args) {
    return args->n ? fail_call(f, "a dict is made empty") : pickle_new(a, PICKLE_DICT);
}

static Pickle *call_size(const ArrayFile *f, Arena *a, const Pickle *args) {
    if (args->n != 1 || !is_ints(args->item[0]))
        return fail_call(f, "a torch.Size is a tuple of sizes");
    Pickle *t = pickle_new(a, PICKLE_TUPLE);
    t->item = args->item[0]->item;
    t->n = args->item[0]->n;
    return t;
}

static Pickle *call_nothing(const ArrayFile *f, Arena *a, const Pickle *args) {
    (void)f, (void)args;
    return pickle_new(a, PICKLE_NONE);
}

static const struct {
    const char *module, *name;
    CallFn *call;
} functions[] = {{"collections", "OrderedDict", call_dict},
                 {"torch._utils", "_rebuild_tensor_v2", call_rebuild_tensor},
                 {"torch._utils", "_rebuild_tensor", call_rebuild_tensor},
                 {"torch._utils", "_rebuild_parameter", call_rebuild_parameter},
                 {"torch", "Size", call_size},
                 {"torch", "device", call_nothing}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* Of a function: its number; of a storage's class: FUNCTIONS and its number. */
static Pickle *make_global(Arena *a, int64_t number) {
    Pickle *o = pickle_new(a, PICKLE_OTHER);
    o->text = is_type;
    o->i = number;
    return o;
}

static Pickle *torch_global(const ArrayFile *f, Arena *a, const char *module,
                            const char *name) {
    for (int i = 0; i < FUNCTIONS; i++)
        if (strcmp(functions[i].module, module) == 0 &&
            strcmp(functions[i].name, name) == 0)
            return make_global(a, i);
    for (int i = 0; strcmp(module, "torch") == 0 && i < STORAGES; i++)
        if (strcmp(storages[i].storage, name) == 0)
            return make_global(a, FUNCTIONS + i);
    Str full = STR(f->s);
    str_visible(&full, module, strlen(module));
    str_putc(&full, '.');
    str_visible(&full, name, strlen(name));
    array_fail(f, E_FORMAT, "it holds %s, which is no part of a state dict",
               str_text(&full));
    str_free(&full);
    note(f->s, NOWHERE,
         "in PyTorch, save the tensors alone: "
         "torch.save(model.state_dict(), FILE)");
    return NULL;
}

static Pickle *torch_call(const ArrayFile *f, Arena *a, const Pickle *what,
                          const Pickle *args) {
    if (what->text != is_type || what->i >= FUNCTIONS)
        return fail_call(f, "a call of what is no function");
    return functions[what->i].call(f, a, args);
}

/* ('storage', class, key, location, number of elements): a storage has the items from
 * the key on. */
static Pickle *torch_outside(const ArrayFile *f, Arena *a, const Pickle *id) {
    bool ok = id->kind == PICKLE_TUPLE && id->n >= 5 &&
              id->item[0]->kind == PICKLE_TEXT &&
              strcmp(id->item[0]->text, "storage") == 0 &&
              is_made(id->item[1], is_type) && id->item[1]->i >= FUNCTIONS &&
              id->item[2]->kind == PICKLE_TEXT && id->item[4]->kind == PICKLE_INT;
    if (!ok) return fail_call(f, "a storage is a class, a key and a size");
    Pickle *o = pickle_new(a, PICKLE_OTHER);
    o->text = is_storage;
    o->i = id->item[1]->i - FUNCTIONS;
    o->item = id->item + 2;
    o->n = 3;
    return o;
}

static const PickleRules rules = {torch_global, torch_call, torch_outside};

/* ---- the archive ---- */

typedef struct NamedPickle {
    const char *name; /* NULL: the only thing there is */
    const Pickle *t;
} NamedPickle;

typedef struct TorchFile {
    const ArrayFile *f;
    Arena *a;
    const char *folder; /* of its members, with the slash */
    Pickle *root;
    Vec(NamedPickle) tensors;
    size_t visits;
} TorchFile;

static bool is_data_pickle(const ZipMember *m, size_t *folder) {
    static const char name[] = "data.pkl";
    size_t n = sizeof name - 1;
    if (m->name_len < n || memcmp(m->name + m->name_len - n, name, n) != 0)
        return false;
    *folder = m->name_len - n;
    return *folder == 0 || m->name[*folder - 1] == '/';
}

bool torch_is(const ArrayFile *f) {
    ZipDirectory d;
    ZipMember m;
    size_t folder, mark = diag_count(f->s);
    bool found = false, ok = zip_open(f, &d);
    while (ok && !found && d.count > 0) {
        ok = zip_next(f, &d, &m);
        found = ok && is_data_pickle(&m, &folder);
    }
    diag_rewind(f->s, mark);
    return found;
}

/* false: there is none, not diagnosed */
static bool find_torch_member(const TorchFile *t, const char *name, ZipMember *m) {
    ZipDirectory d;
    size_t skip = strlen(t->folder), n = strlen(name);
    if (!zip_open(t->f, &d)) return false;
    while (d.count > 0 && zip_next(t->f, &d, m))
        if (m->name_len == skip + n && memcmp(m->name, t->folder, skip) == 0 &&
            memcmp(m->name + skip, name, n) == 0)
            return true;
    return false;
}

static bool run_pickle(const ArrayFile *member, void *out) {
    TorchFile *t = out;
    t->root = pickle_read(member, t->a, &rules);
    return t->root != NULL;
}

static bool collect_tensors(TorchFile *t, const char *name, const Pickle *o, int depth);

static bool collect_item(TorchFile *t, const char *name, const Pickle *key, size_t i,
                         const Pickle *item, int depth) {
    const char *head = name ? name : "", *dot = name ? "." : "";
    if (item->kind < PICKLE_TUPLE) return true;
    if (key && key->kind == PICKLE_TEXT)
        name = arena_printf(t->a, "%s%s%s", head, dot, key->text);
    else if (!key || key->kind == PICKLE_INT)
        name = arena_printf(t->a, "%s%s%lld", head, dot,
                            key ? (long long)key->i : (long long)i);
    else
        return true;
    return collect_tensors(t, name, item, depth + 1);
}

/* Tensors in dicts, lists and tuples get the keys on the way to them, with dots. */
static bool collect_tensors(TorchFile *t, const char *name, const Pickle *o,
                            int depth) {
    if (depth > DEPTH_MAX)
        return array_fail(t->f, E_LIMIT, "its dicts are nested too deeply");
    if (++t->visits > VISITS_MAX || arena_bytes(t->a) > NAMES_MAX)
        return array_fail(t->f, E_LIMIT, "it holds too many things");
    if (is_made(o, is_tensor)) vec_push(t->f->s, &t->tensors, ((NamedPickle){name, o}));
    for (size_t i = 0; o->kind == PICKLE_DICT && i < o->n; i += 2)
        if (!collect_item(t, name, o->item[i], 0, o->item[i + 1], depth)) return false;
    bool list = o->kind == PICKLE_LIST || o->kind == PICKLE_TUPLE;
    for (size_t i = 0; list && i < o->n; i++)
        if (!collect_item(t, name, NULL, i, o->item[i], depth)) return false;
    return true;
}

/* Close it also after a failure. */
static bool open_torch(const ArrayFile *f, TorchFile *t) {
    ZipDirectory d;
    ZipMember m = {.name = NULL};
    size_t folder = 0;
    *t = (TorchFile){.f = f, .a = arena_new(f->s)};
    if (!zip_open(f, &d)) return false;
    do
        if (!zip_next(f, &d, &m)) return false;
    while (!is_data_pickle(&m, &folder));
    t->folder = arena_str(t->a, m.name, folder);
    return zip_read(f, &m, ZIP_WHOLE, run_pickle, t) &&
           collect_tensors(t, NULL, t->root, 0);
}

static void close_torch(TorchFile *t) {
    vec_free(&t->tensors);
    arena_free(t->a);
}

/* ---- a tensor ---- */

typedef struct StorageRead {
    const TorchDType *type;
    ArrayLayout lay;
    Tensor out;
} StorageRead;

static bool read_storage(const ArrayFile *member, void *out) {
    StorageRead *r = out;
    return (r->type->bfloat16 ? array_from_bfloat16
                              : array_from_bytes)(member, 0, &r->lay, &r->out);
}

static bool read_byte_order(const ArrayFile *member, void *out) {
    *(bool *)out = member->n >= 3 && memcmp(member->p, "big", 3) == 0;
    return true;
}

/* All elements lie within the storage, and the strides fit in a tensor. */
static bool check_extent(const Pickle *o, int64_t elements, DType d, Tensor *t) {
    int64_t last = o->item[1]->i, part, row_major[MAX_NDIM];
    size_t bytes;
    bool empty = false;
    t->ndim = (int)o->item[2]->n;
    for (int i = 0; i < t->ndim; i++) {
        t->shape[i] = o->item[2]->item[i]->i;
        t->stride[i] = o->item[3]->item[i]->i;
        if (t->shape[i] < 0 || t->stride[i] < 0) return false;
        empty |= t->shape[i] == 0;
    }
    if (last < 0 || !tensor_row_major(d, t->ndim, t->shape, row_major, &bytes))
        return false;
    for (int i = 0; !empty && i < t->ndim; i++)
        if (!i64_mul(t->shape[i] - 1, t->stride[i], &part) ||
            __builtin_add_overflow(last, part, &last))
            return false;
    for (int i = 0; i < t->ndim; i++) /* those that are never taken may be anything */
        t->stride[i] =
            empty || t->shape[i] == 1 ? 0 : t->stride[i] * (int64_t)dtype_size(d);
    return empty || last < elements;
}

/* Tensors that don't fill their place row by row are copied. */
static bool view_storage(const TorchFile *t, const Pickle *o, const Tensor *storage,
                         Tensor *out) {
    Tensor view = *storage;
    if (!check_extent(o, storage->shape[0], storage->dtype, &view))
        return array_fail(t->f, E_FORMAT,
                          "the sizes and strides of a tensor don't fit its storage");
    bool empty = tensor_size(&view) == 0;
    if (!empty)
        view.data = (char *)view.data + o->item[1]->i * (int64_t)dtype_size(view.dtype);
    if (!tensor_is_contiguous(&view) || empty) return tensor_clone(t->f->s, &view, out);
    tensor_copy_view(out, &view);
    return true;
}

static bool read_tensor(const TorchFile *t, const Pickle *o, Tensor *out) {
    const Pickle *storage = o->item[0];
    const char *key = storage->item[0]->text;
    ZipMember m;
    bool big = false;
    StorageRead r = {.type = &storages[storage->i]};
    r.lay = (ArrayLayout){.dtype = r.type->dtype, .ndim = 1};
    r.lay.shape[0] = storage->item[2]->i;
    size_t mark = diag_count(t->f->s);
    if (r.lay.shape[0] < 0)
        return array_fail(t->f, E_FORMAT, "the size of a storage is negative");
    if (find_torch_member(t, "byteorder", &m) &&
        !zip_read(t->f, &m, ZIP_WHOLE, read_byte_order, &big))
        return false;
    r.lay.big_endian = big;
    if (!find_torch_member(t, arena_printf(t->a, "data/%s", key), &m))
        return diag_failed(t->f->s, mark)
                   ? false
                   : array_fail(t->f, E_FORMAT, "the archive has no member data/%s",
                                key);
    if (!zip_read(t->f, &m, ZIP_WHOLE, read_storage, &r)) return false;
    bool ok = view_storage(t, o, &r.out, out);
    tensor_unref(&r.out);
    return ok;
}

static bool fail_no_tensor(const TorchFile *t, const char *key) {
    size_t n = t->tensors.n;
    const char **name = NEW_N(t->a, n + 1, const char *);
    for (size_t i = 0; i < n; i++)
        name[i] =
            t->tensors.p[i].name ? t->tensors.p[i].name : "a tensor without a name";
    return array_fail_no_name(t->f, "array", key, &(Names){name, n});
}

bool torch_read(const ArrayFile *f, const char *key, Tensor *out) {
    TorchFile t;
    bool ok = open_torch(f, &t);
    const Pickle *o = ok && !key && t.tensors.n == 1 ? t.tensors.p[0].t : NULL;
    for (size_t i = 0; ok && key && i < t.tensors.n; i++)
        if (t.tensors.p[i].name && strcmp(t.tensors.p[i].name, key) == 0)
            o = t.tensors.p[i].t;
    ok = ok && (o ? read_tensor(&t, o, out) : fail_no_tensor(&t, key));
    close_torch(&t);
    return ok;
}

bool torch_list(const ArrayFile *f, ValueList *l) {
    TorchFile t;
    bool ok = open_torch(f, &t);
    for (size_t i = 0; ok && i < t.tensors.n; i++) {
        const NamedPickle *e = &t.tensors.p[i];
        const TorchDType *d = &storages[e->t->item[0]->i];
        Tensor shape = {0};
        ok = check_extent(e->t, INT64_MAX, d->dtype, &shape) ||
             array_fail(f, E_FORMAT, "the sizes and strides of a tensor are wrong");
        if (!ok) break;
        const char *name = e->name ? arena_str(l->a, e->name, strlen(e->name)) : NULL;
        ValueInfo *v = value_list_add(f->s, l, name, d->dtype, shape.ndim, shape.shape);
        if (d->bfloat16) v->more = "BF16";
    }
    close_torch(&t);
    return ok;
}

/* ---- what is none ---- */

bool torch_is_pickle(const ArrayFile *f) {
    return f->n >= 2 && f->p[0] == 0x80 && f->p[1] >= 2 && f->p[1] <= 5;
}

bool torch_fail_pickle(const ArrayFile *f) {
    static const unsigned char old[] = {0x80, 2,    0x8A, 0x0A, 0x6C, 0xFC, 0x9C,
                                        0x46, 0xF9, 0x20, 0x6A, 0xA8, 0x50, 0x19};
    if (f->n < sizeof old || memcmp(f->p, old, sizeof old) != 0)
        return array_fail(
            f, E_FORMAT,
            "this is a pickle of Python, which may run anything; of "
            "those, only what torch.save writes as an archive can be read");
    array_fail(f, E_FORMAT, "this is the format of PyTorch before 1.6");
    return note(f->s, NOWHERE,
                "in PyTorch, torch.save(torch.load(FILE), FILE) writes the new one");
}
