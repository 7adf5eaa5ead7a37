/* The file of a page: the frame (page.html) with style, scripts and data in their
 * places. A policy in its head allows these scripts and this style by their digests, a
 * worker made of the page itself, and nothing from elsewhere. */
#include "base/embedded.h"
#include "base/sha256.h"
#include "page/page_impl.h"

#include <string.h>

static const char *embedded_text(const char *name) {
    size_t n = strlen(name);
    for (const EmbeddedText *t = page_texts; t->file; t++) {
        size_t k = strlen(t->file);
        if (k > n && t->file[k - n - 1] == '/' && strcmp(t->file + k - n, name) == 0)
            return t->text;
    }
    bug("no page without %s", name);
}

static void put_digest(const char *text, Str *out) {
    Sha256 sum;
    char hex[SHA256_HEX + 1];
    unsigned char bytes[SHA256_HEX / 2];
    sha256_init(&sum);
    sha256_add(&sum, text, strlen(text));
    sha256_end(&sum, hex);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(ascii_hex_digit(hex[2 * i]) << 4 |
                                   ascii_hex_digit(hex[2 * i + 1]));
    str_puts(out, "'sha256-");
    page_base64(bytes, sizeof bytes, out);
    str_putc(out, '\'');
}

static void put_policy(Str *out) {
    str_puts(out, "default-src 'none'; script-src ");
    put_digest(embedded_text("main.js"), out);
    str_puts(out, "; style-src ");
    put_digest(embedded_text("page.css"), out);
    str_puts(out, "; worker-src blob:; img-src data: blob:; base-uri 'none'; "
                  "form-action 'none'");
}

/* What an editor or a browser would let change its surroundings becomes "?". */
static void put_title(const char *text, Str *out) {
    Str plain = STR(out->s);
    str_masked(&plain, text, strlen(text));
    for (const char *c = str_text(&plain); *c; c++)
        if (*c == '&')
            str_puts(out, "&amp;");
        else if (*c == '<')
            str_puts(out, "&lt;");
        else
            str_putc(out, *c);
    str_free(&plain);
}

static void put_place(Page *p, const char *place, size_t n, Str *out) {
    static const char *const files[][2] = {
        {"STYLE", "page.css"}, {"SCRIPT", "main.js"}, {"WORKER", "worker.js"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strlen(files[i][0]) == n && strncmp(place, files[i][0], n) == 0)
            str_puts(out, embedded_text(files[i][1]));
    if (n == 3 && strncmp(place, "CSP", n) == 0) put_policy(out);
    if (n == 5 && strncmp(place, "TITLE", n) == 0) put_title(p->title, out);
    if (n == 4 && strncmp(place, "DATA", n) == 0)
        page_escape_json(p->json.p, p->json.n, out);
}

/* Words such as @DATA@ are places. */
void page_put_html(Page *p, Str *out) {
    const char *text = embedded_text("page.html"), *begin;
    while ((begin = strchr(text, '@'))) {
        size_t n = strspn(begin + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        str_add(out, text, (size_t)(begin - text));
        if (n && begin[1 + n] == '@') {
            put_place(p, begin + 1, n, out);
            text = begin + n + 2;
        } else {
            str_putc(out, '@');
            text = begin + 1;
        }
    }
    str_puts(out, text);
}
