/* Columns of numbers as text, and JSON that can stand in a file of HTML. */
#include "page/page_impl.h"

#include <string.h>

void page_base64(const void *bytes, size_t n, Str *out) {
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    enum { TAKEN = 3 * 256 };
    const unsigned char *p = bytes;
    char text[TAKEN / 3 * 4];
    while (n > 0) {
        size_t take = n < TAKEN ? n : TAKEN, k = 0;
        for (size_t i = 0; i < take; i += 3) {
            uint32_t v = (uint32_t)p[i] << 16;
            if (i + 1 < take) v |= (uint32_t)p[i + 1] << 8;
            if (i + 2 < take) v |= p[i + 2];
            text[k++] = digits[v >> 18];
            text[k++] = digits[v >> 12 & 63];
            text[k++] = i + 1 < take ? digits[v >> 6 & 63] : '=';
            text[k++] = i + 2 < take ? digits[v & 63] : '=';
        }
        str_add(out, text, k);
        p += take;
        n -= take;
    }
}

/* The bytes of v, the least first, whatever the machine has. */
static void put_bytes(unsigned char *to, uint64_t v, size_t n) {
    for (size_t i = 0; i < n; i++)
        to[i] = (unsigned char)(v >> 8 * i);
}

static void put_column(Page *p, const char *key, const char *kind,
                       const unsigned char *bytes, size_t n) {
    if (key) json_put_key(&p->w, key);
    json_put_word(&p->w, "");
    str_printf(&p->json, "\"%s:", kind);
    page_base64(bytes, n, &p->json);
    str_putc(&p->json, '"');
}

void page_put_u32(Page *p, const char *key, size_t n, const uint32_t *v) {
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++)
        most |= v[i];
    if (!most && key) return;
    size_t size = most < 1 << 8 ? 1 : most < 1 << 16 ? 2 : 4;
    unsigned char *bytes = mem_zalloc(p->s, n, size);
    for (size_t i = 0; i < n; i++)
        put_bytes(bytes + i * size, v[i], size);
    put_column(p, key, size == 1 ? "u8" : size == 2 ? "u16" : "u32", bytes, n * size);
    mem_free(bytes);
}

static uint64_t bits_of(double v, bool narrow) {
    uint64_t wide;
    uint32_t small;
    float f = (float)v;
    memcpy(&wide, &v, sizeof wide);
    memcpy(&small, &f, sizeof small);
    return narrow ? small : wide;
}

void page_put_f64(Page *p, const char *key, size_t n, const double *v) {
    bool narrow = true, any = false;
    for (size_t i = 0; i < n; i++) {
        narrow &= v[i] != v[i] || (double)(float)v[i] == v[i];
        any |= !(v[i] == 0);
    }
    if (!any && key) return;
    size_t size = narrow ? 4 : 8;
    unsigned char *bytes = mem_zalloc(p->s, n, size);
    for (size_t i = 0; i < n; i++)
        put_bytes(bytes + i * size, bits_of(v[i], narrow), size);
    put_column(p, key, narrow ? "f32" : "f64", bytes, n * size);
    mem_free(bytes);
}

/* ---- escapes: outside of strings JSON has none of these characters ---- */
void page_escape_json(const char *p, size_t n, Str *out) {
    size_t from = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] != '<' && p[i] != '>' && p[i] != '&') continue;
        str_add(out, p + from, i - from);
        str_printf(out, "\\u%04x", (unsigned)p[i]);
        from = i + 1;
    }
    str_add(out, p + from, n - from);
}
