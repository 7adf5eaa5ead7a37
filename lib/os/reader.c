/* Reading in pieces: a window over the input that moves forward and grows on demand.
 * Memory and a mapped file are a single window from the start. */
#include "os/file.h"
#include "os/os_impl.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 16 };

struct ReaderImpl {
    int fd;
    bool own;           /* fd is ours to close */
    unsigned char *buf; /* the window lies in buf[0..cap) */
    size_t cap;
    void *map; /* or the whole file */
    size_t map_size;
};

bool reader_open(Session *s, const char *path, Reader *r) {
    *r = (Reader){.s = s, .name = path, .p = (const unsigned char *)"", .eof = true};
    bool own;
    int fd = file_open_input(s, path, &r->name, &own);
    if (fd < 0) return false;
    struct ReaderImpl *m = mem_zalloc(s, 1, sizeof *m);
    r->impl = m;
    m->fd = fd;
    m->own = own;
    size_t len = strlen(r->name);
    char *name = mem_alloc(s, len + 1);
    r->name = memcpy(name, r->name, len + 1);
    m->map = mapped_open(s, fd, r->name, &m->map_size);
    r->eof = m->map != NULL;
    if (!m->map) return true;
    if (own) close(fd); /* files that are mapped for long don't use up descriptors */
    m->own = false;
    r->p = m->map;
    r->n = m->map_size;
    return true;
}

void reader_open_mem(Session *s, const char *name, const void *p, size_t n, Reader *r) {
    *r = (Reader){.s = s, .name = name, .p = p, .n = n, .eof = true};
}

/* Makes room for `size` bytes from r->p on, and for at least one more piece of the
 * input. */
static void grow_window(Reader *r, size_t size) {
    struct ReaderImpl *m = r->impl;
    size_t want = size > r->n + PIECE ? size : r->n + PIECE;
    size_t before = m->buf ? (size_t)(r->p - m->buf) : 0;
    if (m->cap - before >= want) return;
    if (m->buf && r->n) memmove(m->buf, r->p, r->n);
    if (m->cap < want) m->buf = mem_grow_vec_(r->s, m->buf, &m->cap, want, 1);
    r->p = m->buf;
}

bool reader_need(Reader *r, size_t n) {
    struct ReaderImpl *m = r->impl;
    while (r->n < n && !r->eof) {
        /* The window at most doubles before more data has arrived: a file that promises
         * much and ends early costs little. */
        grow_window(r, n < 2 * r->n ? n : 2 * r->n);
        size_t used = (size_t)(r->p - m->buf) + r->n;
        ssize_t got = file_read_some(m->fd, m->buf + used, m->cap - used);
        if (got < 0) return file_fail_os(r->s, "read", r->name, errno);
        r->eof = got == 0;
        r->n += (size_t)got;
    }
    return true;
}

void reader_skip(Reader *r, size_t n) {
    r->p += n;
    r->n -= n;
    r->offset += n;
}

bool reader_all(Reader *r) {
    while (!r->eof)
        if (!reader_need(r, r->n + PIECE)) return false;
    return true;
}

bool reader_is_mapped(const Reader *r) {
    return r->impl && r->impl->map;
}

void reader_close(Reader *r) {
    struct ReaderImpl *m = r->impl;
    if (m) {
        union {
            const char *in;
            void *out;
        } name = {.in = r->name};
        if (m->map) mapped_close(r->s, m->map, m->map_size);
        if (m->own) close(m->fd);
        mem_free(m->buf);
        mem_free(name.out);
        mem_free(m);
    }
    *r = (Reader){.s = r->s, .name = "", .p = (const unsigned char *)"", .eof = true};
}
