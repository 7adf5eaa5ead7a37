/* System calls without their surprises, and what signal handlers must know of files
 * that are open, for the files of lib/os. */
#ifndef OS_OS_IMPL_H
#define OS_OS_IMPL_H

#include "os/file.h"

#include <stdatomic.h>
#include <sys/types.h>

/* Temporary files are named ".NAME.thunkline.abc123". */
#define TEMP_MARK ".thunkline."
enum { TEMP_TAIL = 6, TEMP_EXTRA = 1 + sizeof TEMP_MARK - 1 + TEMP_TAIL };

/* A file that a signal handler removes. */
typedef struct TempFile {
    _Atomic(char *) path; /* NULL: unused */
    struct TempFile *next;
} TempFile;

/* A mapped file, for a signal handler and for writers. */
typedef struct Mapping {
    _Atomic(const char *) p; /* NULL: unused */
    size_t n;
    bool written; /* its memory may be written to */
    bool lent;    /* others may refer to its bytes */
    char *name;
    uint64_t device, inode;
    int64_t seconds, nanoseconds; /* time of its last change */
    struct Mapping *next;
} Mapping;

/* A handler may walk the lists at any moment, so their nodes are reused, never freed
 * before the session. */
typedef struct OpenFiles {
    _Atomic(TempFile *) temps;
    _Atomic(Mapping *) mappings;
    atomic_bool printed; /* something went to stdout */
} OpenFiles;
OpenFiles *open_files(Session *s);     /* made on first use */
OpenFiles *open_files_yet(Session *s); /* async-signal-safe; NULL before that */

/* Reports "can't VERB NAME: reason" for the error number; returns false. */
bool file_fail_os(Session *s, const char *verb, const char *name, int error);
ssize_t file_read_some(int fd, void *p, size_t n);    /* 0 at the end; -1 and errno */
bool file_write_all(int fd, const void *p, size_t n); /* false and errno */
/* Opens a file for reading: "-" is stdin. -1: diagnosed. *name is for messages. */
int file_open_input(Session *s, const char *path, const char **name, bool *own);
/* Maps an open, non-empty regular file at its beginning; NULL if that is not
 * possible. */
void *mapped_open(Session *s, int fd, const char *name, size_t *n);
void mapped_close(Session *s, void *p, size_t n);
/* False if a mapped file has been changed: data read from it may mix two states. */
bool mapped_unchanged(Session *s);

/* Reads the rest of an open file; file_close frees it. */
bool file_read_fd(Session *s, int fd, const char *name, uint64_t limit, FileData *out);

#endif
