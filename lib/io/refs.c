/* Constants too large for a text become npy files next to it (sparse ones npz), and the
 * text has load('STEM.NAME.DIGEST.npy') in their place. The digest covers the file's
 * content and the text's name: a text therefore never reuses the name of another text's
 * file, nor of one it wrote earlier, unless the content is the same. A constant loaded
 * from another file in the same folder stays a reference to it, except if that file
 * belongs to a text, which may remove it. io/refs_store.c writes the files. */
#include "io/io_impl.h"
#include "value/file/file.h"
#include "value/sparse.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { INLINE_MAX = 64, STEM_MAX = 96, FUNCTION_MAX = 40, NAME_KEPT = 60 };

const char *refs_folder_of(Arena *a, const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return ".";
    return slash == path ? "/" : arena_str(a, path, (size_t)(slash - path));
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* A text's name without its suffix (and .zst), and without characters that need quoting
 * in a text. */
static const char *stem_of(Session *s, Arena *a, const char *name) {
    size_t n = strlen(name);
    if (n > 4 && strcmp(name + n - 4, ".zst") == 0) n -= 4;
    const char *dot = memrchr(name, '.', n);
    if (dot && dot > name) n = (size_t)(dot - name);
    if (n > STEM_MAX)
        for (n = STEM_MAX; ((unsigned char)name[n] & 0xC0U) == 0x80U;)
            n--;
    char *stem = arena_str(a, name, n);
    Str shown = STR(s);
    str_visible(&shown, stem, n);
    bool odd = strcmp(str_text(&shown), stem) != 0;
    str_free(&shown);
    for (char *p = stem; *p; p++)
        if (strchr("'\"\\", *p) || (odd && (*p < ' ' || *p > '~'))) *p = '_';
    return stem;
}

/* The path of `dir` relative to a text in `folder`; NULL if it isn't below it. */
static const char *path_below(const char *folder, const char *dir) {
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

/* Refuses to write through a link, since load() would not follow it either. */
static bool refuse_link(Refs *r) {
    struct stat st;
    for (const char *p = r->prefix; *p; p += strspn(p, "/")) {
        p += strcspn(p, "/");
        const char *part =
            arena_printf(r->a, "%s/%.*s", r->folder, (int)(p - r->prefix), r->prefix);
        if (lstat(part, &st) == 0 && S_ISLNK(st.st_mode))
            return fail(r->s, NOWHERE, E_IO,
                        "%s is a symbolic link, which load() would refuse to follow",
                        part);
    }
    return true;
}

static bool make_folder(Refs *r, const char *dir) {
    const char *under = path_below(r->folder, dir);
    if (!under)
        return fail(
            r->s, NOWHERE, E_VALUE,
            "%s is not below %s, the folder of the graph: load() would refuse it", dir,
            r->folder);
    size_t n = strlen(under);
    r->dir = dir;
    r->prefix = n && under[n - 1] != '/' ? arena_printf(r->a, "%s/", under) : under;
    if (!refuse_link(r)) return false;
    if (mkdir(dir, 0777) == 0 || errno == EEXIST) return true;
    return fail(r->s, NOWHERE, E_IO, "can't make the folder %s: %s", dir,
                strerrordesc_np(errno));
}

bool refs_open(Refs *r, Session *s, const char *path, const Writer *w,
               const WriteOptions *o) {
    *r = (Refs){.s = s,
                .a = arena_new(s),
                .known = MAP(s),
                .pack = o->pack,
                .durable = o->durable,
                .max = o->inline_max ? o->inline_max : INLINE_MAX,
                .prefix = "",
                .name = "",
                .stem = "",
                .lock = {-1, -1}};
    const char *target = w ? writer_target(w) : NULL;
    if (target) {
        r->text = arena_str(r->a, target, strlen(target));
        r->name = base_name(r->text);
        r->stem = arena_printf(r->a, "%s.", stem_of(s, r->a, r->name));
    }
    if (!o->pack) r->folder = target ? refs_folder_of(r->a, path) : ".";
    if (!o->pack && o->refs) {
        if (!make_folder(r, o->refs)) return false;
    } else if (!o->pack && target) {
        r->dir = r->folder;
    }
    refs_begin(r);
    return true;
}

/* ---- names ---- */

static bool is_hex(const char *p, size_t n) {
    return strspn(p, "0123456789abcdef") >= n;
}

/* The start of the digest in a name "STEM.NAME.DIGEST.npy"; NULL: the name has none. */
const char *refs_digest(const char *name) {
    static const size_t tail = 1 + REF_DIGEST + 4;
    size_t n = strlen(name);
    if (n <= tail || name[n - tail] != '.') return NULL;
    const char *p = name + n - tail + 1, *end = p + REF_DIGEST;
    bool suffix = strcmp(end, ".npy") == 0 || strcmp(end, ".npz") == 0;
    return suffix && is_hex(p, REF_DIGEST) ? p : NULL;
}

uint64_t refs_mix(const Refs *r, const char *head, size_t nhead, uint64_t content,
                  unsigned attempt) {
    Xxh64 h;
    unsigned char tail[9];
    for (int i = 0; i < 8; i++)
        tail[i] = (unsigned char)(content >> 8 * i);
    tail[8] = (unsigned char)attempt;
    hash_xxh64_init(&h, 0);
    hash_xxh64_add(&h, r->name, strlen(r->name) + 1);
    hash_xxh64_add(&h, head, nhead);
    hash_xxh64_add(&h, tail, sizeof tail);
    return hash_xxh64_end(&h);
}

/* The name without the digest. */
static const char *name_part(Refs *r, const Graph *g, Var v) {
    Session *s = r->s;
    Sym name = var_name(g, v);
    const char *own =
        name ? sym_text(s, name) : arena_printf(r->a, "const%u", ++r->count);
    if (g->main == g) return arena_printf(r->a, "%s%.*s", r->stem, NAME_KEPT, own);
    return arena_printf(r->a, "%s%.*s.%.*s", r->stem, FUNCTION_MAX,
                        sym_text(s, g->name), NAME_KEPT, own);
}

/* ---- one constant ---- */

static const char *quote_text(Arena *a, const char *text) {
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

/* Is the constant's file in the text's own folder and managed only by the user? */
static bool may_keep_ref(const Refs *r, const Graph *g, const FileRef *ref) {
    const char *folder = g->main->folder;
    if (r->pack || !ref || !folder || !r->folder || strcmp(folder, r->folder) != 0)
        return false;
    return !r->dir || !refs_digest(ref->file);
}

static bool all_stay(const Refs *r, const Graph *g) {
    bool stay = true;
    for (uint32_t i = 0; i < g->nleaf && stay; i++) {
        const FileRef *ref = leaf_ref(g, g->leaf[i].var);
        stay = !ref || may_keep_ref(r, g, ref);
    }
    return stay;
}

bool refs_stay(const Refs *r, const Graph *g) {
    for (size_t i = 0; i < g->functions.n; i++)
        if (!all_stay(r, g->functions.p[i])) return false;
    return all_stay(r, g);
}

static const char *old_ref(Refs *r, const FileRef *ref) {
    const char *file = quote_text(r->a, ref->file), *key = ref->key;
    if (!key) return arena_printf(r->a, "load(%s)", file);
    return arena_printf(r->a, "load(%s, %s)", file, quote_text(r->a, key));
}

static const char *new_ref(Refs *r, const Graph *g, Var named, const Value *value) {
    bool sparse = value->kind == TYPE_SPARSE;
    const char *head = arena_printf(r->a, "%s%s.", r->prefix, name_part(r, g, named));
    const char *file = refs_add(r, head, sparse ? ".npz" : ".npy", value);
    return file ? arena_printf(r->a, "load(%s)", quote_text(r->a, file)) : NULL;
}

const char *refs_text(Refs *r, const Graph *g, Var v, Var named) {
    const Leaf *l = var_leafrec(g, v);
    bool sparse = l->value->kind == TYPE_SPARSE;
    if ((l->value->kind != TYPE_TENSOR && !sparse) || !value_has_data(l->value) ||
        r->failed)
        return NULL;
    /* The printer asks more than once, but the file is written once. */
    uint64_t key = (uint64_t)(uintptr_t)l, have;
    if (map_get(&r->known, key, &have)) return (const char *)(uintptr_t)have;
    const FileRef *ref = leaf_ref(g, v);
    const char *text = may_keep_ref(r, g, ref) ? old_ref(r, ref) : NULL;
    int64_t size = sparse ? sparse_stored(l->value->obj) : tensor_size(&l->value->t);
    if (!text && r->dir && size > r->max) text = new_ref(r, g, named, l->value);
    map_put(&r->known, key, (uint64_t)(uintptr_t)text);
    return text;
}
