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
    Session *s;
} FileData;
/* "-" is stdin. `limit` 0 means none; beyond it: E_LIMIT. Errors name the path. */
bool file_read(Session *s, const char *path, uint64_t limit, FileData *out);
/* False, E_IO: a mapped file was changed since, so that what was copied from it may be
 * of two states. */
bool file_unchanged(const FileData *d);
void file_close(FileData *d);
bool file_exists(const char *path);
/* E_LIMIT for what has more than `limit` bytes: "NAME is larger than ...", as `how`
 * says. Where that is the limit of memory, a note says how to raise it. False. */
bool file_fail_too_large(Session *s, const char *name, const char *how, uint64_t limit);
/* False, E_FORMAT: what begins with eight zeros is of no form that is read here, and of
 * a device such as /dev/zero there may be no end. */
bool file_check_start(Session *s, const char *name, const unsigned char *p, size_t n);
/* The name of the mapped file that an address lies in, or NULL: for a handler of
 * SIGBUS, which comes where a file ends earlier than it did (async-signal-safe). */
const char *file_mapped_at(Session *s, const void *address);
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
/* Everything is in the temporary file; nothing may be added any more. writer_commit
 * does it, too, if it wasn't done. */
bool writer_seal(Writer *w);
bool writer_commit(
    Writer *w); /* flushes, renames, frees; EPIPE on stdout: see session.h */
void writer_abort(Writer *w);
/* The regular file that this will be, without links at its end; NULL: written directly.
 */
const char *writer_target(const Writer *w);
/* Leaves the temporary file to the next writer if a signal comes. */
void writer_leave(Writer *w);
/* Committed, a regular file outlives a loss of power. Costs some milliseconds. */
void writer_make_durable(Writer *w);
/* For a file that must not exist yet, not even as a link. */
Writer *writer_open_new(Session *s, const char *path);
/* Writes nowhere; writer_hash frees it and returns the xxh64 of all that was added. */
Writer *writer_open_hash(Session *s);
uint64_t writer_hash(Writer *w);
/* A signal handler of the tools may call this: unlinks open temporary files
 * (async-signal-safe). */
void writer_unlink_all(Session *s);

/* ---- what changes several files of a folder at once ---- */
/* Waits for whoever else has the folder; -1 where there are no such locks. */
int file_lock_folder(const char *folder);
void file_unlock_folder(int lock); /* -1 is fine */
void file_sync_folder(Session *s,
                      const char *path); /* of the folder that a path lies in */
/* Calls f for each temporary file in the folder whose writer was killed; `target` is
 * the name that the file was to have (shortened if it is very long). */
typedef void LeftoverFn(void *ctx, const char *target, const char *path);
void file_each_leftover(Session *s, const char *folder, LeftoverFn *f, void *ctx);
/* A file that is not yet known to stay: signal handlers remove it until it is kept. The
 * text must live until then. */
void file_track_temp(Session *s, char *path);
void file_keep_temp(Session *s, const char *path);

#endif
