/* Zip archives, which hold the arrays of npz and of PyTorch's files. */
#ifndef VALUE_FILE_ZIP_H
#define VALUE_FILE_ZIP_H

#include "value/file/file_impl.h"

typedef struct ZipMember {
    const char *name;
    size_t name_len;
    unsigned flags, method;
    uint32_t crc;
    uint64_t packed, size, offset;
} ZipMember;

/* The entries that are still to be read. */
typedef struct ZipDirectory {
    const unsigned char *p, *end;
    uint64_t count;
} ZipDirectory;

bool zip_open(const ArrayFile *f, ZipDirectory *d);
bool zip_next(const ArrayFile *f, ZipDirectory *d, ZipMember *m); /* while d->count */
bool zip_fail_damaged(const ArrayFile *f);

/* Calls `read` with a member's bytes, unpacked and checked; with the first `most` bytes
 * only, and unchecked, unless that is ZIP_WHOLE. */
#define ZIP_WHOLE SIZE_MAX
typedef bool ZipReadFn(const ArrayFile *member, void *out);
bool zip_read(const ArrayFile *f, const ZipMember *m, size_t most, ZipReadFn *read,
              void *out);

/* A member to be written: an array as npy, or ready bytes. */
typedef struct ZipEntry {
    uint64_t offset, size;
    uint32_t crc;
} ZipEntry;
typedef struct ZipPart {
    const char *name; /* ".npy" is added */
    const Tensor *t;
    const char *p;
    size_t n;
    ZipEntry packed;
} ZipPart;
bool zip_write(Session *s, Writer *w, size_t n, ZipPart *part);

#endif
