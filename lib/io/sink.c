/* The destination of a graph's bytes: a Writer or a Str, with a count and a hash,
 * optionally through zstd. */
#include "io/io_impl.h"

#include <string.h>

Sink sink_open(Session *s, Writer *w, Str *str, int zstd_level) {
    Sink k = {.s = s, .w = w, .str = str};
    hash_xxh64_init(&k.hash, 0);
    if (zstd_level) k.zip = zip_new(s, zstd_level);
    return k;
}

void sink_raw(Sink *k, const void *p, size_t n) {
    if (k->w)
        k->failed = k->failed || !writer_add(k->w, p, n);
    else
        str_add(k->str, p, n);
}

void sink_add(Sink *k, const void *p, size_t n) {
    k->offset += n;
    hash_xxh64_add(&k->hash, p, n);
    if (!k->zip)
        sink_raw(k, p, n);
    else if (!k->failed)
        k->failed = !zip_add(k->zip, k, p, n, false);
}

bool sink_close(Sink *k) {
    if (k->zip && !k->failed) k->failed = !zip_add(k->zip, k, "", 0, true);
    if (k->zip) zip_free(k->zip);
    k->zip = NULL;
    return !k->failed;
}
