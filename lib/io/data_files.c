/* Files of bytes that a graph's file refers to, below its folder. */
#include "io/io_impl.h"

#include <string.h>

static void release_data_file(Buffer *b) {
    FileData *d = b->ctx;
    file_close(d);
    mem_free(d);
    mem_free(b);
}

const DataFile *data_file(DataFiles *all, const char *path) {
    Session *s = all->s;
    for (size_t i = 0; i < all->file.n; i++)
        if (strcmp(all->file.p[i].path, path) == 0) return &all->file.p[i];
    FileData *own = mem_alloc(s, sizeof *own);
    if (!file_read_below(s, all->folder, path, 0, own)) {
        mem_free(own);
        return NULL;
    }
    union {
        const unsigned char *in;
        void *out;
    } u = {.in = own->p};
    DataFile f = {mem_strdup(s, path), *own,
                  buffer_wrap(s, u.out, own->n, release_data_file, own)};
    if (own->mapped) file_mapped_lend(s, own->p);
    vec_push(s, &all->file, f);
    return &all->file.p[all->file.n - 1];
}

void data_files_close(DataFiles *all) {
    for (size_t i = 0; i < all->file.n; i++) {
        buffer_unref(all->file.p[i].buf);
        mem_free(all->file.p[i].path);
    }
    vec_free(&all->file);
}
