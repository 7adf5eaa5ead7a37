/* Constants that are too large for a text go to npy files beside it (sparse ones to
 * npz), and the text has load('NAME.npy') in their place. One that came from a file of
 * the same folder stays a reference to that. */
#include "io/io_impl.h"
#include "value/array.h"
#include "value/sparse.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { INLINE_MAX = 64 };

/* Folder part of a path without its slash: "." if there is none. */
static char *folder_of(Arena *a, const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return arena_str(a, ".", 1);
    return slash == path ? arena_str(a, "/", 1)
                         : arena_str(a, path, (size_t)(slash - path));
}

static const char *stem_of(Arena *a, const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t n = strcspn(name, ".");
    return n ? arena_printf(a, "%.*s.", (int)n, name) : "";
}

static bool is_device(const char *path) {
    struct stat st;
    return strcmp(path, "-") == 0 || (stat(path, &st) == 0 && !S_ISREG(st.st_mode));
}

/* How `dir` is called in a text that lies in `folder`; NULL if it is not below. */
static const char *below(const char *folder, const char *dir) {
    size_t n = strlen(folder);
    if (strcmp(folder, ".") == 0) n = 0;
    if (n && strncmp(folder, dir, n) == 0 && dir[n] == '/') return dir + n + 1;
    if (strcmp(folder, dir) == 0) return "";
    if (n || dir[0] == '/') return NULL;
    for (const char *p = dir; *p; p += strcspn(p, "/"), p += *p == '/')
        if (strncmp(p, "..", 2) == 0 && (p[2] == '/' || p[2] == '\0')) return NULL;
    while (dir[0] == '.' && dir[1] == '/')
        dir += 2;
    return strcmp(dir, ".") == 0 ? "" : dir;
}

static bool make_folder(Session *s, const char *dir) {
    if (mkdir(dir, 0777) == 0 || errno == EEXIST) return true;
    return fail(s, NOWHERE, E_IO, "can't make the folder %s: %s", dir,
                strerrordesc_np(errno));
}

bool refs_open(Refs *r, Session *s, const char *path, const WriteOptions *o) {
    *r = (Refs){.s = s,
                .a = arena_new(s),
                .known = MAP(s),
                .pack = o->pack,
                .max = o->inline_max ? o->inline_max : INLINE_MAX};
    bool file = path && !is_device(path);
    if (o->pack) return true;
    r->folder = path && file ? folder_of(r->a, path) : ".";
    r->stem = "";
    if (o->refs) {
        r->dir = o->refs;
        r->prefix = below(r->folder, o->refs);
        if (!r->prefix)
            return fail(
                s, NOWHERE, E_VALUE,
                "%s is not below %s, the folder of the graph: load() would refuse it",
                o->refs, r->folder);
        return make_folder(s, r->dir);
    }
    if (!file) return true;
    r->dir = r->folder;
    r->prefix = "";
    r->stem = stem_of(r->a, path);
    return true;
}

void refs_close(Refs *r) {
    map_free(&r->known);
    arena_free(r->a);
}

/* ---- one constant ---- */

static const char *quoted(Arena *a, const char *text) {
    size_t n = strlen(text), k = 0;
    char *out = arena_alloc(a, 2 * n + 3);
    out[k++] = '\'';
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\'' || text[i] == '\\') out[k++] = '\\';
        out[k++] = text[i];
    }
    out[k++] = '\'';
    out[k] = '\0';
    return out;
}

static const char *old_ref(Refs *r, const Graph *g, const Leaf *l) {
    const char *folder = g->main->folder;
    if (r->pack || !l->ref || !folder || !r->folder || strcmp(folder, r->folder) != 0)
        return NULL;
    if (!l->ref_key) return arena_printf(r->a, "load(%s)", quoted(r->a, l->ref));
    return arena_printf(r->a, "load(%s, %s)", quoted(r->a, l->ref),
                        quoted(r->a, l->ref_key));
}

static const char *file_name(Refs *r, const Graph *g, Var v) {
    Session *s = r->s;
    Sym name = var_name(g, v);
    const char *fn =
        g->main == g ? "" : arena_printf(r->a, "%s.", sym_text(s, g->name));
    const char *own =
        name ? sym_text(s, name) : arena_printf(r->a, "const%u", ++r->count);
    bool sparse = var_type(g, v)->kind == TYPE_SPARSE;
    return arena_printf(r->a, "%s%s%s.%s", r->stem, fn, own, sparse ? "npz" : "npy");
}

static const char *new_ref(Refs *r, const Graph *g, Var v, const Value *value) {
    const char *file = file_name(r, g, v);
    const char *path = arena_printf(r->a, "%s/%s", r->dir, file);
    if (!values_write(r->s, path, 1, &(NamedValue){"data", value})) {
        r->failed = true;
        return NULL;
    }
    const char *slash =
        r->prefix[0] && r->prefix[strlen(r->prefix) - 1] != '/' ? "/" : "";
    return arena_printf(
        r->a, "load(%s)",
        quoted(r->a, arena_printf(r->a, "%s%s%s", r->prefix, slash, file)));
}

const char *refs_text(Refs *r, const Graph *g, Var v) {
    const Leaf *l = var_leafrec(g, v);
    bool sparse = l->value->kind == TYPE_SPARSE;
    if ((l->value->kind != TYPE_TENSOR && !sparse) || !value_has_data(l->value) ||
        r->failed)
        return NULL;
    /* The printer asks more than once; the file is written once. */
    uint64_t key = (uint64_t)(uintptr_t)l, have;
    if (map_get(&r->known, key, &have)) return (const char *)(uintptr_t)have;
    const char *text = old_ref(r, g, l);
    int64_t size = sparse ? sparse_stored(l->value->obj) : tensor_size(&l->value->t);
    if (!text && r->dir && size > r->max) text = new_ref(r, g, v, l->value);
    map_put(&r->known, key, (uint64_t)(uintptr_t)text);
    return text;
}
