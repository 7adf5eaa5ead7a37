/* This folder asks the operating system for files and processes, and turns what it
 * answers into diagnostics. It knows bytes and names, not what the bytes mean.
 *
 * Files: whole-file reading (mapped when regular), streaming, and writing through a
 * temporary name. */
#ifndef OS_FILE_H
#define OS_FILE_H

#include "base/diag.h"
#include "base/str.h"

/* A file's bytes: mapped if it is a regular file, else read into memory. */
typedef struct FileData {
    const unsigned char *p;
    size_t n;
    bool mapped;
    Session *s;
} FileData;
/* "-" is stdin. `limit` 0 means none; a larger file is E_LIMIT. Errors name the
 * path. */
bool file_read(Session *s, const char *path, uint64_t limit, FileData *out);
/* False, E_IO: a mapped file has been changed since, so copies from it may mix two
 * states. */
bool file_unchanged(const FileData *d);
void file_close(FileData *d);
bool file_exists(const char *path);
/* E_LIMIT for more than `limit` bytes: "NAME is larger than ...", completed by `how`.
 * If the limit is that of memory, a note says how to raise it. Returns false. */
bool file_fail_too_large(Session *s, const char *name, const char *how, uint64_t limit);
/* False, E_FORMAT: no known format begins with eight zeros, and a device such as
 * /dev/zero may never end. */
bool file_check_start(Session *s, const char *name, const unsigned char *p, size_t n);
/* The name of the mapped file that contains an address, or NULL: for a handler of
 * SIGBUS, which is raised if a file has become shorter (async-signal-safe). */
const char *file_mapped_at(Session *s, const void *address);
/* Makes a mapped file's memory writable; what is written stays in this process. */
bool file_mapped_write(Session *s, void *p, size_t n);
/* These bytes were passed and need not stay in memory: a page that was touched brings
 * its neighbours along. Nothing happens unless they are many, and of a mapped file that
 * is only read. */
void file_mapped_pass(Session *s, const void *p, size_t n);
/* Where bytes of a mapped file lie, for a graph that refers to them. */
typedef struct FilePlace {
    const char *name;             /* as it was opened */
    uint64_t offset, size;        /* size: of the file */
    int64_t seconds, nanoseconds; /* of its last change */
} FilePlace;
/* Lets file_place find the mapped file that has this address. */
void file_mapped_lend(Session *s, const void *p);
/* False: no file that was lent has the address, or its memory may have been written
 * to. */
bool file_place(Session *s, const void *p, FilePlace *out);
/* Opens `rel` strictly below folder `base` (no "..", no absolute path, no symlink out
 * of it, a regular file with a single link). For references inside graph files. */
bool file_read_below(Session *s, const char *base, const char *rel, uint64_t limit,
                     FileData *out);

/* Reads in pieces, from a path, "-" or memory: keeps a window that grows on demand. */
typedef struct Reader {
    Session *s;
    const char *name;       /* for messages: "<stdin>" or the path */
    const unsigned char *p; /* the window: p[0..n) */
    size_t n;
    uint64_t offset; /* of p[0] in the input */
    bool eof;
    struct ReaderImpl *impl;
} Reader;
bool reader_open(Session *s, const char *path, Reader *r);
void reader_open_mem(Session *s, const char *name, const void *p, size_t n, Reader *r);
/* Makes at least n bytes available at r->p, unless the input ends first; false only for
 * an I/O error. */
bool reader_need(Reader *r, size_t n);
void reader_skip(Reader *r, size_t n); /* n <= r->n */
bool reader_all(Reader *r);            /* makes the rest of the input available */
/* Is the input a mapped regular file, whose bytes stay valid until reader_close? */
bool reader_is_mapped(const Reader *r);
void reader_close(Reader *r);

/* Writing. A regular file is written under a temporary name in the same folder, which
 * writer_commit renames (symlinks resolved, mode kept); devices and FIFOs are written
 * directly; "-" is stdout. writer_abort removes the temporary file. */
typedef struct Writer Writer;
Writer *writer_open(Session *s, const char *path); /* NULL: diagnosed */
bool writer_add(Writer *w, const void *p,
                size_t n);    /* buffered; false once an error has been diagnosed */
bool writer_flush(Writer *w); /* passes on what is buffered */
uint64_t writer_offset(const Writer *w);
/* Completes the temporary file; nothing may be added afterwards. writer_commit does
 * this if necessary. */
bool writer_seal(Writer *w);
bool writer_commit(
    Writer *w); /* flushes, renames, frees; a pipe without reader is E_DOWNSTREAM */
/* Sets *named even if the file has its name, but a power failure may take it away. */
bool writer_commit_named(Writer *w, bool *named);
void writer_abort(Writer *w);
/* The regular file to be written, with links resolved; NULL: written directly. */
const char *writer_target(const Writer *w);
/* On a signal, leaves the temporary file for the next writer to find. */
void writer_leave(Writer *w);
/* Makes a committed regular file survive a power failure. Takes some milliseconds. */
void writer_make_durable(Writer *w);
/* For a file that must not exist yet, not even as a link. */
Writer *writer_open_new(Session *s, const char *path);
/* Writes nowhere; writer_hash frees it and returns the xxh64 of everything added. */
Writer *writer_open_hash(Session *s);
uint64_t writer_hash(Writer *w);
/* For the tools' signal handlers, both async-signal-safe. */
void writer_unlink_all(Session *s);  /* unlinks open temporary files */
bool writer_has_printed(Session *s); /* has a Writer sent anything to stdout? */

/* ---- changing several files of a folder at once ---- */
/* Waits until nobody else holds the folder; -1 if there are no such locks. */
int file_lock_folder(const char *folder);
void file_unlock_folder(int lock); /* -1 is fine */
/* The folder that contains the path. True also where folders can't be synced. */
bool file_sync_folder(Session *s, const char *path);
/* Calls f for each temporary file in the folder whose writer was killed; `target` is
 * the intended name of the file (shortened if very long). */
typedef void LeftoverFn(void *ctx, const char *target, const char *path);
void file_each_leftover(Session *s, const char *folder, LeftoverFn *f, void *ctx);
/* A file that may not stay: signal handlers remove it until file_untrack_temp. The text
 * must live until then. */
void file_track_temp(Session *s, char *path);
void file_untrack_temp(Session *s, const char *path);

#endif
