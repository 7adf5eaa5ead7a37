/* The arrays next to a text change atomically with it: at any moment either the old
 * text exists with the old arrays or the new one with the new ones, whatever stops the
 * program.
 *
 * The text is complete under a temporary name before the first array gets its final
 * name, and renaming the text commits the change. Arrays that only the old text named
 * are then removed: files whose digest proves that this very text wrote them and that
 * no other text in the folder names. Until then a journal lists them and the new
 * arrays. It is a temporary file of the text, so the next writer finds the journal of a
 * killed one and removes its leftovers. A lock on the folder covers all of this. */
#include "io/io_impl.h"
#include "value/file/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ATTEMPTS = 8 };

/* ---- names in texts ---- */

/* The bytes of a text, unpacked; NULL: unreadable, so its references are unknown. */
static Input *peek_text_file(Session *s, const char *path) {
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) return NULL;
    size_t mark = diag_count(s);
    Input *in = input_open(s, path, NULL, 0, 0);
    diag_rewind(s, mark);
    return in;
}

/* Collects the quoted names of arrays in a text. Names that need escapes are skipped:
 * no writer makes any. */
static void collect_names(Refs *r, const char *p, size_t n) {
    const char *end = p + n;
    for (const char *at = p; (at = memmem(at, (size_t)(end - at), ".np", 3)); at++) {
        const char *begin = at;
        if (end - at < 5 || (at[4] != '\'' && at[4] != '"')) continue;
        while (begin > p && !strchr("'\"\\\n", begin[-1]) && at - begin < 4096)
            begin--;
        if (begin == p || (begin[-1] != '\'' && begin[-1] != '"')) continue;
        const char *rel = arena_str(r->a, begin, (size_t)(at + 4 - begin));
        if (refs_digest(rel)) vec_push(r->s, &r->old, rel);
    }
}

static void collect_from(Refs *r, const char *path) {
    Input *in = peek_text_file(r->s, path);
    if (!in) return;
    collect_names(r, (const char *)in->p, in->n);
    input_close(in);
}

/* ---- leftovers of killed writers ---- */

static void collect_left_text(void *ctx, const char *target, const char *path) {
    Refs *r = ctx;
    if (strncmp(target, r->name, strlen(target)) != 0) return;
    if (r->name[strlen(target)] && strlen(target) < 200) return; /* not shortened */
    if (r->dir) collect_from(r, path);
    vec_push(r->s, &r->left, arena_str(r->a, path, strlen(path)));
}

static void collect_left_array(void *ctx, const char *target, const char *path) {
    Refs *r = ctx;
    if (strncmp(target, r->stem, strlen(r->stem)) == 0 && refs_digest(target))
        vec_push(r->s, &r->left, arena_str(r->a, path, strlen(path)));
}

void refs_begin(Refs *r) {
    if (!r->text || (!r->dir && !r->durable)) return;
    const char *folder = refs_folder_of(r->a, r->text);
    r->lock[0] = file_lock_folder(folder);
    if (r->dir && strcmp(folder, r->dir) != 0) r->lock[1] = file_lock_folder(r->dir);
    if (r->dir) collect_from(r, r->text);
    if (r->lock[0] < 0) return;
    file_each_leftover(r->s, folder, collect_left_text, r);
    if (r->dir) file_each_leftover(r->s, r->dir, collect_left_array, r);
}

/* ---- arrays ---- */

/* Size and hash of a regular file below the folder that has no other link. False: there
 * is none. */
static bool file_content(Refs *r, const char *rel, uint64_t *size, uint64_t *hash) {
    FileData d;
    size_t mark = diag_count(r->s);
    bool ok = file_read_below(r->s, r->folder, rel, 0, &d);
    diag_rewind(r->s, mark);
    if (!ok) return false;
    Xxh64 h;
    hash_xxh64_init(&h, 0);
    hash_xxh64_add(&h, d.p, d.n);
    *size = d.n;
    *hash = hash_xxh64_end(&h);
    file_close(&d);
    return true;
}

static bool is_same(Refs *r, const char *rel, uint64_t size, uint64_t hash) {
    uint64_t there, content;
    return file_content(r, rel, &there, &content) && there == size && content == hash;
}

static bool is_free(const char *path) {
    struct stat st;
    return lstat(path, &st) != 0 && errno == ENOENT;
}

static bool write_value(const Refs *r, Writer *w, const RefArray *f) {
    return values_write_to(r->s, w, f->path, 1, &(NamedValue){"data", f->value});
}

static bool hash_value(const Refs *r, const RefArray *f, uint64_t *size,
                       uint64_t *hash) {
    Writer *w = writer_open_hash(r->s);
    bool ok = write_value(r, w, f);
    *size = writer_offset(w);
    *hash = writer_hash(w);
    return ok;
}

const char *refs_add(Refs *r, const char *head, const char *suffix,
                     const Value *value) {
    RefArray f = {.value = value, .path = arena_printf(r->a, "data%s", suffix)};
    uint64_t size, hash;
    if (!hash_value(r, &f, &size, &hash)) return r->failed = true, NULL;
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        uint64_t mix = refs_mix(r, head, strlen(head), hash, i);
        f.rel =
            arena_printf(r->a, "%s%016llx%s", head, (unsigned long long)mix, suffix);
        f.path = arena_printf(r->a, "%s/%s", r->dir, f.rel + strlen(r->prefix));
        bool same = is_same(r, f.rel, size, hash);
        if (!same && !is_free(f.path)) continue; /* a link, or damaged */
        f.state = same ? REF_THERE : REF_NEW;
        vec_push(r->s, &r->arrays, f);
        return f.rel;
    }
    r->failed = true;
    fail(r->s, NOWHERE, E_IO, "can't write %s: something else has that name", f.path);
    return NULL;
}

static bool store_array(Refs *r, RefArray *f) {
    Writer *w = writer_open_new(r->s, f->path);
    if (!w) return false;
    if (r->durable) writer_make_durable(w);
    if (!write_value(r, w, f)) {
        writer_abort(w);
        return false;
    }
    file_track_temp(r->s, f->path);
    bool named, ok = writer_commit_named(w, &named);
    if (named)
        f->state = REF_MADE;
    else
        file_untrack_temp(r->s, f->path);
    return ok;
}

/* The arrays that this writer is about to create and to remove. */
static bool write_journal(Refs *r) {
    r->journal = writer_open(r->s, r->text);
    if (!r->journal) return false;
    Str b = STR(r->s);
    for (size_t i = 0; i < r->old.n; i++)
        str_printf(&b, "'%s'\n", r->old.p[i]);
    for (size_t i = 0; i < r->arrays.n; i++)
        str_printf(&b, "'%s'\n", r->arrays.p[i].rel);
    bool ok = writer_add(r->journal, str_text(&b), b.n);
    str_free(&b);
    return ok && writer_seal(r->journal);
}

/* The text goes where a link leads, and load() looks beside the text: through a link
 * into another folder, one of the two ways to open it would miss the arrays. */
static bool is_beside_text(Refs *r) {
    struct stat text, arrays;
    if (!r->text || !r->folder) return true;
    if (stat(refs_folder_of(r->a, r->text), &text) != 0 ||
        stat(r->folder, &arrays) != 0 ||
        (text.st_dev == arrays.st_dev && text.st_ino == arrays.st_ino))
        return true;
    return fail(r->s, NOWHERE, E_IO,
                "the file is a symbolic link to %s, in another folder, and its arrays "
                "would not be found from both: name that file instead",
                r->text);
}

bool refs_store(Refs *r) {
    if (r->arrays.n && !is_beside_text(r)) return false;
    if (r->text && (r->old.n || r->arrays.n) && !write_journal(r)) return false;
    for (size_t i = 0; i < r->arrays.n; i++) {
        RefArray *f = &r->arrays.p[i];
        if (f->state == REF_NEW && !store_array(r, f)) return false;
    }
    /* From here on, a signal leaves the journal behind rather than a text without its
     * arrays. */
    if (r->journal) writer_leave(r->journal);
    for (size_t i = 0; i < r->arrays.n; i++)
        file_untrack_temp(r->s, r->arrays.p[i].path);
    return true;
}

/* ---- removal of unused arrays ---- */

static bool is_among_names(const char *const *p, size_t n, const char *rel) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(p[i], rel) == 0) return true;
    return false;
}

static bool is_named_array(const Refs *r, const char *rel) {
    for (size_t i = 0; i < r->arrays.n; i++)
        if (strcmp(r->arrays.p[i].rel, rel) == 0) return true;
    return false;
}

/* Does a file's digest match its content under our text's name? */
static bool is_own(Refs *r, const char *rel) {
    const char *digest = refs_digest(rel);
    uint64_t size, content;
    if (!file_content(r, rel, &size, &content)) return false;
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        char hex[REF_DIGEST + 1];
        uint64_t mix = refs_mix(r, rel, (size_t)(digest - rel), content, i);
        snprintf(hex, sizeof hex, "%016llx", (unsigned long long)mix);
        if (memcmp(hex, digest, REF_DIGEST) == 0) return true;
    }
    return false;
}

/* Drops from the list the names that a text mentions. */
static void spare_named_in(Refs *r, const Input *in) {
    size_t kept = 0;
    for (size_t i = 0; i < r->old.n; i++) {
        const char *digest = refs_digest(r->old.p[i]);
        if (!memmem(in->p, in->n, digest, strlen(digest)))
            r->old.p[kept++] = r->old.p[i];
    }
    r->old.n = kept;
}

static bool is_text_name(const char *name) {
    IoFormat f = io_format_of(name, NULL);
    return f == IO_YAML || f == IO_JSON;
}

/* Is it a graph in text form, by its name or else by its beginning? */
static bool may_name_arrays(const char *name, const Input *in) {
    enum { BEGINNING = 4096 };
    size_t n = in->n < BEGINNING ? in->n : BEGINNING;
    return is_text_name(name) || memmem(in->p, n, "thunkline", 9);
}

/* Files that never name arrays, or only those of a killed writer. */
static bool never_names_arrays(const char *name) {
    static const char *const suffixes[] = {".npy", ".npz", ".safetensors",
                                           ".tlg", ".zst", ""};
    if (is_text_name(name)) return false;
    size_t n = strlen(name), i = 0, k;
    while ((k = strlen(suffixes[i])) && (n < k || strcmp(name + n - k, suffixes[i])))
        i++;
    return k > 0 || (name[0] == '.' && strstr(name, ".thunkline."));
}

/* Copies of a text name the same arrays. */
static void spare_others(Refs *r, const char *folder) {
    DIR *d = opendir(folder);
    if (!d) {
        r->old.n = 0; /* unknown, so keep everything */
        return;
    }
    for (struct dirent *e; r->old.n && (e = readdir(d));) {
        const char *path = arena_printf(r->a, "%s/%s", folder, e->d_name);
        if (never_names_arrays(e->d_name)) continue;
        Input *in = peek_text_file(r->s, path);
        if (!in) continue;
        if (may_name_arrays(e->d_name, in)) spare_named_in(r, in);
        input_close(in);
    }
    closedir(d);
}

static void remove_old(Refs *r) {
    size_t kept = 0;
    for (size_t i = 0; i < r->old.n; i++) {
        const char *rel = r->old.p[i];
        if (!is_among_names(r->old.p, kept, rel) && !is_named_array(r, rel) &&
            is_own(r, rel))
            r->old.p[kept++] = rel;
    }
    r->old.n = kept;
    if (r->old.n == 0) return;
    const char *folder = refs_folder_of(r->a, r->text);
    spare_others(r, folder);
    if (strcmp(folder, r->folder) != 0) spare_others(r, r->folder);
    for (size_t i = 0; i < r->old.n; i++)
        unlink(arena_printf(r->a, "%s/%s", r->folder, r->old.p[i]));
}

static void remove_made(Refs *r) {
    for (size_t i = 0; i < r->arrays.n; i++) {
        RefArray *f = &r->arrays.p[i];
        if (f->state != REF_MADE) continue;
        unlink(f->path);
        file_untrack_temp(r->s, f->path);
    }
}

void refs_close(Refs *r, RefsEnd end) {
    if (end == REFS_UNDO) remove_made(r);
    if (end == REFS_DONE && r->dir && r->text) remove_old(r);
    for (size_t i = 0; end == REFS_DONE && i < r->left.n; i++)
        unlink(r->left.p[i]);
    writer_abort(r->journal);
    file_unlock_folder(r->lock[1]);
    file_unlock_folder(r->lock[0]);
    vec_free(&r->arrays);
    vec_free(&r->old);
    vec_free(&r->left);
    map_free(&r->known);
    arena_free(r->a);
}
