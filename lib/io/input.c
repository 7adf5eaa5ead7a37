/* Reads all bytes of an input at once and unpacks them. A regular file is mapped; large
 * constants of a tlg keep pointing into the mapping, so the input lives as long as the
 * last of them. */
#include "format/unpack.h"
#include "io/io_impl.h"

#include <string.h>
#include <sys/stat.h>

static uint64_t limit_of_input(const Input *in) {
    return in->max ? in->max : session_max_memory(in->s);
}

static bool is_too_large(const Input *in, uint64_t n) {
    return in->max ? n > in->max : session_exceeds_memory(in->s, n);
}

static bool unpack_input(Input *in) {
    Unpacked out;
    if (!unpack_is_packed(in->p, in->n)) return true;
    Packed from = {in->name, NOWHERE, in->p, in->n, limit_of_input(in)};
    if (!unpack_all(in->s, &from, &out)) return false;
    in->p = in->own = out.p;
    in->n = out.n;
    return true;
}

/* A regular file with a name: nobody has just said why it is broken. */
static bool is_named_file(const Input *in) {
    struct stat st;
    return strcmp(in->name, "<stdin>") != 0 && stat(in->name, &st) == 0 &&
           S_ISREG(st.st_mode);
}

static bool check_input_content(Input *in) {
    int exit;
    if (io_is_failure(in->p, in->n, &exit)) {
        if (is_named_file(in))
            return fail(in->s, NOWHERE, E_TRUNCATED,
                        "%s: the command that wrote it failed, with status %d",
                        in->name, exit);
        fail(in->s, NOWHERE, E_UPSTREAM, "%s: the command before this one failed",
             in->name);
        return diag_set_exit(in->s, exit ? exit : diag_exit(E_UPSTREAM)), false;
    }
    if (is_too_large(in, in->n))
        return file_fail_too_large(in->s, in->name, "is larger", limit_of_input(in));
    if (in->n == 0)
        return fail(in->s, NOWHERE, E_TRUNCATED,
                    "%s is empty: did the command before it fail?", in->name);
    return true;
}

/* Reads to the end, but not far beyond the limit. */
static bool read_all(Input *in) {
    Reader *r = &in->r;
    while (!r->eof && !is_too_large(in, r->n))
        if (!reader_need(r, r->n + (1 << 16)) ||
            (!r->eof && !file_check_start(in->s, r->name, r->p, r->n)))
            return false;
    in->name = r->name;
    in->p = r->p;
    in->n = r->n;
    return true;
}

Input *input_open(Session *s, const char *path, const void *p, size_t n,
                  uint64_t max_bytes) {
    Input *in = mem_zalloc(s, 1, sizeof *in);
    in->s = s;
    in->name = path;
    in->max = max_bytes;
    if (p) {
        reader_open_mem(s, path, p, n, &in->r);
    } else if (!reader_open(s, path, &in->r)) {
        mem_free(in);
        return NULL;
    }
    if (read_all(in) && check_input_content(in) && unpack_input(in) &&
        check_input_content(in))
        return in;
    input_close(in);
    return NULL;
}

static void free_input(Input *in) {
    mem_free(in->own);
    reader_close(&in->r);
    mem_free(in);
}

static void release_input(Buffer *b) {
    free_input(b->ctx);
    mem_free(b);
}

bool input_is_shareable(const Input *in) {
    return in->own || in->r.impl;
}

Buffer *input_share(Input *in, ElementUse use) {
    union {
        const unsigned char *in;
        void *out;
    } u = {.in = in->p};
    /* The mapping is private: writes stay in this process. */
    if (use == ELEMENTS_COMPUTED && !in->own && reader_is_mapped(&in->r) &&
        !file_mapped_write(in->s, u.out, in->n))
        return NULL;
    if (in->shared) return buffer_ref(in->shared);
    in->shared = buffer_wrap(in->s, u.out, in->n, release_input, in);
    return buffer_ref(in->shared);
}

typedef struct KeptInputs {
    Vec(Buffer *) all;
} KeptInputs;

static void free_kept(void *p) {
    KeptInputs *k = p;
    for (size_t i = 0; i < k->all.n; i++)
        buffer_unref(k->all.p[i]);
    vec_free(&k->all);
    mem_free(k);
}

static KeptInputs *kept_inputs(Session *s) {
    KeptInputs *k = session_slot(s, SLOT_INPUTS);
    if (k) return k;
    k = mem_zalloc(s, 1, sizeof *k);
    session_set_slot(s, SLOT_INPUTS, k, free_kept);
    return k;
}

bool input_keep(Input *in) {
    if (in->kept || in->own || !reader_is_mapped(&in->r)) return in->kept;
    vec_push(in->s, &kept_inputs(in->s)->all, input_share(in, ELEMENTS_IGNORED));
    return in->kept = true;
}

/* What is kept is rarely looked at, and the file has it. */
void input_close(Input *in) {
    if (in && in->kept) file_mapped_pass(in->s, in->p, in->n);
    if (in && in->shared)
        buffer_unref(in->shared);
    else if (in)
        free_input(in);
}
