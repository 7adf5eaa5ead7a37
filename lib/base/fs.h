/* Files: whole-file reading (mapped when regular), streaming, and writing through a
 * temporary name. */
#ifndef BASE_FS_H
#define BASE_FS_H

#include "base/diag.h"
#include "base/str.h"

/* A file's bytes: mapped when it is a regular file, else read to the end into memory.
 */
typedef struct FileData {
    const unsigned char *p;
    size_t n;
    bool mapped;
} FileData;
/* "-" is stdin. `limit` 0 means none; beyond it: E_LIMIT. Errors name the path. */
bool file_read(Session *s, const char *path, uint64_t limit, FileData *out);
void file_close(FileData *d);
bool file_exists(const char *path);
/* Opens `rel` strictly below folder `base` (no "..", no absolute path, no symlink out
 * of it, a regular file with one link). For references inside graph files. */
bool file_read_below(Session *s, const char *base, const char *rel, uint64_t limit,
                     FileData *out);

/* Reading in pieces, from a path, "-" or memory: keeps a window that grows on demand.
 */
typedef struct Reader {
    Session *s;
    const char *name;       /* for messages: "<stdin>" or the path */
    const unsigned char *p; /* bytes at hand: p[0..n) */
    size_t n;
    uint64_t offset; /* of p[0] in the input */
    bool eof;
    struct ReaderImpl *impl;
} Reader;
bool reader_open(Session *s, const char *path, Reader *r);
void reader_open_mem(Session *s, const char *name, const void *p, size_t n, Reader *r);
/* Makes at least n bytes available at r->p unless the input ends first; false only on
 * an I/O error. */
bool reader_need(Reader *r, size_t n);
void reader_skip(Reader *r, size_t n); /* n <= r->n */
bool reader_all(Reader *r);            /* everything that is left */
/* True if the input is a mapped regular file, whose bytes stay valid until
 * reader_close. */
bool reader_is_mapped(const Reader *r);
void reader_close(Reader *r);

/* Writing. A regular file is written under a temporary name in the same folder and
 * renamed by writer_commit (symlinks resolved, mode kept); devices and FIFOs are
 * written directly;
 * "-" is stdout. writer_abort removes what was begun. */
typedef struct Writer Writer;
Writer *writer_open(Session *s, const char *path); /* NULL: diagnosed */
bool writer_add(Writer *w, const void *p,
                size_t n); /* buffered; false once an error was diagnosed */
uint64_t writer_offset(const Writer *w);
bool writer_commit(
    Writer *w); /* flushes, renames, frees; EPIPE on stdout: see session.h */
void writer_abort(Writer *w);
/* A signal handler of the tools may call this: unlinks open temporary files
 * (async-signal-safe). */
void writer_unlink_all(Session *s);

#endif
