/* System calls without their surprises: for the files of lib/base that read and write.
 */
#ifndef BASE_IO_IMPL_H
#define BASE_IO_IMPL_H

#include "base/fs.h"

#include <sys/types.h>

/* A temporary file is called ".NAME.thunkline.abc123". */
#define TEMP_MARK ".thunkline."
enum { TEMP_TAIL = 6, TEMP_EXTRA = 1 + sizeof TEMP_MARK - 1 + TEMP_TAIL };

/* Says "can't VERB NAME: reason" for the error number; returns false. */
bool file_fail_os(Session *s, const char *verb, const char *name, int error);
ssize_t file_read_some(int fd, void *p, size_t n);    /* 0 at the end, -1 and errno */
bool file_write_all(int fd, const void *p, size_t n); /* false and errno */
/* Opens for reading: "-" is stdin. -1: diagnosed. *name is what messages call it. */
int file_open_input(Session *s, const char *path, const char **name, bool *own);
/* Maps an open, non-empty regular file that is read from its beginning; NULL if it is
 * not one. */
void *mapped_open(Session *s, int fd, const char *name, size_t *n);
void mapped_close(Session *s, void *p, size_t n);
/* False if a file that is mapped was changed meanwhile: what was read of it may be of
 * two states. */
bool mapped_unchanged(Session *s);

/* The rest of an open file, whole; file_close gives it back. */
bool file_read_fd(Session *s, int fd, const char *name, uint64_t limit, FileData *out);

#endif
