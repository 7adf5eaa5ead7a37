/* Mapped files. A mapping can change or lose its end under its reader, so the session
 * records which files are mapped: a handler of SIGBUS looks up the file that became
 * shorter, and nothing is committed that was made from a file which has changed
 * meanwhile. */
#include "base/session.h"
#include "os/os_impl.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The newest mapping; NULL: there has been none. */
static Mapping *first_mapping(Session *s) {
    OpenFiles *open = open_files_yet(s);
    return open ? atomic_load(&open->mappings) : NULL;
}

static Mapping *unused_mapping(Session *s) {
    Mapping *m = first_mapping(s);
    while (m && atomic_load(&m->p))
        m = m->next;
    if (m) return m;
    m = NEW(session_arena(s), Mapping);
    m->next = first_mapping(s);
    atomic_store(&open_files(s)->mappings, m);
    return m;
}

static void record_mapping(Session *s, const char *p, const char *name,
                           const struct stat *st) {
    Mapping *m = unused_mapping(s);
    m->n = (size_t)st->st_size;
    m->written = m->lent = false;
    m->name = mem_strdup(s, name);
    m->device = (uint64_t)st->st_dev;
    m->inode = (uint64_t)st->st_ino;
    m->seconds = (int64_t)st->st_mtim.tv_sec;
    m->nanoseconds = (int64_t)st->st_mtim.tv_nsec;
    atomic_store(&m->p, p);
}

void *mapped_open(Session *s, int fd, const char *name, size_t *n) {
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0) return NULL;
    if (lseek(fd, 0, SEEK_CUR) != 0 || (uintmax_t)st.st_size > SIZE_MAX) return NULL;
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) return NULL;
    *n = (size_t)st.st_size;
    record_mapping(s, p, name, &st);
    return p;
}

void mapped_close(Session *s, void *p, size_t n) {
    for (Mapping *m = first_mapping(s); m; m = m->next)
        if (atomic_load(&m->p) == p) {
            atomic_store(&m->p, NULL);
            mem_free(m->name);
        }
    munmap(p, n);
}

const char *file_mapped_at(Session *s, const void *address) {
    uintptr_t at = (uintptr_t)address;
    for (Mapping *m = first_mapping(s); m; m = m->next) {
        uintptr_t begin = (uintptr_t)atomic_load(&m->p);
        size_t pages = (m->n + 4095) / 4096 * 4096;
        if (begin && at >= begin && at - begin < pages) return m->name;
    }
    return NULL;
}

static Mapping *mapping_of(Session *s, const void *address) {
    uintptr_t at = (uintptr_t)address;
    for (Mapping *m = first_mapping(s); m; m = m->next) {
        uintptr_t begin = (uintptr_t)atomic_load(&m->p);
        if (begin && at >= begin && at - begin < m->n) return m;
    }
    return NULL;
}

bool file_mapped_write(Session *s, void *p, size_t n) {
    Mapping *m = mapping_of(s, p);
    if (m) m->written = true;
    return mprotect(p, n, PROT_READ | PROT_WRITE) == 0;
}

void file_mapped_pass(Session *s, const void *p, size_t n) {
    enum { AROUND = 1 << 16, LARGE = 1 << 17 }; /* AROUND: what Linux maps at once */
    const Mapping *m = n >= LARGE ? mapping_of(s, p) : NULL;
    if (!m || m->written) return;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *begin = (char *)(uintptr_t)atomic_load(&m->p);
    size_t from = (size_t)((const char *)p - begin), to = from + n;
    if (to > m->n) to = m->n;
    from = from > AROUND ? (from - AROUND) / page * page : 0;
    madvise(begin + from, (to - from) / page * page, MADV_DONTNEED);
}

void file_mapped_lend(Session *s, const void *p) {
    Mapping *m = mapping_of(s, p);
    if (m) m->lent = true;
}

bool file_place(Session *s, const void *p, FilePlace *out) {
    const Mapping *m = mapping_of(s, p);
    if (!m || !m->lent || m->written) return false;
    *out = (FilePlace){.name = m->name,
                       .offset = (uint64_t)((const char *)p - atomic_load(&m->p)),
                       .size = m->n,
                       .seconds = m->seconds,
                       .nanoseconds = m->nanoseconds};
    return true;
}

/* A different file under the same name doesn't matter: the mapped one is unchanged. */
static bool is_file_changed(const Mapping *m) {
    struct stat st;
    if (stat(m->name, &st) != 0 || (uint64_t)st.st_dev != m->device ||
        (uint64_t)st.st_ino != m->inode)
        return false;
    return (size_t)st.st_size != m->n || (int64_t)st.st_mtim.tv_sec != m->seconds ||
           (int64_t)st.st_mtim.tv_nsec != m->nanoseconds;
}

static bool check_mapping(Session *s, const Mapping *m) {
    if (!is_file_changed(m)) return true;
    fail(s, NOWHERE, E_IO, "%s was changed while it was read", m->name);
    return note(s, NOWHERE, "replace a file by renaming a new one, or read a copy");
}

bool mapped_unchanged(Session *s) {
    for (const Mapping *m = first_mapping(s); m; m = m->next)
        if (atomic_load(&m->p) && !check_mapping(s, m)) return false;
    return true;
}

bool file_unchanged(const FileData *d) {
    if (!d->mapped) return true;
    for (const Mapping *m = first_mapping(d->s); m; m = m->next)
        if (atomic_load(&m->p) == (const char *)d->p) return check_mapping(d->s, m);
    return true;
}
