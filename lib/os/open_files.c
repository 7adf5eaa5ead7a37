/* What signal handlers must know of open files: which temporary files to remove, which
 * file a faulty address belongs to. */
#include "base/session.h"
#include "os/os_impl.h"

#include <unistd.h>

OpenFiles *open_files_yet(Session *s) {
    return session_slot(s, SLOT_FILES);
}

/* What is still mapped is unmapped later by its owner, for whom nothing is left to
 * free. */
static void forget_names(void *open_files) {
    OpenFiles *open = open_files;
    for (Mapping *m = atomic_load(&open->mappings); m; m = m->next)
        if (atomic_exchange(&m->p, NULL)) mem_free(m->name);
}

OpenFiles *open_files(Session *s) {
    OpenFiles *open = open_files_yet(s);
    if (open) return open;
    open = NEW(session_arena(s), OpenFiles);
    session_set_slot(s, SLOT_FILES, open, forget_names);
    return open;
}

void file_track_temp(Session *s, char *path) {
    OpenFiles *open = open_files(s);
    TempFile *t = atomic_load(&open->temps);
    while (t && atomic_load(&t->path))
        t = t->next;
    if (!t) {
        t = NEW(session_arena(s), TempFile);
        t->next = atomic_load(&open->temps);
        atomic_store(&open->temps, t);
    }
    atomic_store(&t->path, path);
}

static TempFile *first_temp(Session *s) {
    OpenFiles *open = open_files_yet(s);
    return open ? atomic_load(&open->temps) : NULL;
}

void file_untrack_temp(Session *s, const char *path) {
    for (TempFile *t = first_temp(s); t; t = t->next)
        if (atomic_load(&t->path) == path) atomic_store(&t->path, NULL);
}

void writer_unlink_all(Session *s) {
    for (TempFile *t = first_temp(s); t; t = t->next) {
        const char *path = atomic_load(&t->path);
        if (path) unlink(path);
    }
}

bool writer_has_printed(Session *s) {
    OpenFiles *open = open_files_yet(s);
    return open && atomic_load(&open->printed);
}
