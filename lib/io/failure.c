/* What a failing tool leaves in a pipe that should have carried a graph, and how the
 * next tool knows it, wherever in the input it comes: a line of text if nothing was
 * written before, else a record of the binary form. For signal handlers, too: nothing
 * is allocated. */
#include "io/io_impl.h"

#include <string.h>

static const char line_begin[] = "# thunkline: ", line_middle[] = " failed, status ";

static char *put_text(char *p, const char *text) {
    while (*text)
        *p++ = *text++;
    return p;
}

size_t io_failure_line(const char *tool, int status, char out[FAILURE_LINE]) {
    char *p = put_text(out, line_begin);
    for (int i = 0; tool[i] && i < 16; i++)
        *p++ = tool[i];
    p = put_text(p, line_middle);
    for (int unit = 100; unit > 0; unit /= 10)
        if (status >= unit || unit == 1) *p++ = (char)('0' + status / unit % 10);
    *p++ = '\n';
    return (size_t)(p - out);
}

size_t io_abort_record(int exit, unsigned char out[ABORT_RECORD]) {
    static const unsigned char begin[] = {0xD9, 0xD9, 0xF7, 0xA1, 0x65, 'a', 'b', 'o',
                                          'r',  't',  0xA1, 0x64, 'e',  'x', 'i', 't'};
    enum { ONE_BYTE = 24 };
    size_t n = sizeof begin;
    memcpy(out, begin, n);
    if (exit >= ONE_BYTE) out[n++] = ONE_BYTE;
    out[n++] = (unsigned char)exit;
    return n;
}

/* The status at the end of a text that is such a line; -1: it is none. */
static int status_of_line(const char *p, size_t n) {
    const char *status = p + n - 1;
    int v = 0;
    while (status > p && ascii_is_digit(status[-1]))
        status--;
    if (status == p + n - 1 || p + n - 1 - status > 3) return -1;
    for (const char *q = status; q < p + n - 1; q++)
        v = 10 * v + (*q - '0');
    size_t begin = strlen(line_begin), middle = strlen(line_middle);
    bool is = (size_t)(status - p) > begin + middle &&
              memcmp(p, line_begin, begin) == 0 &&
              memcmp(status - middle, line_middle, middle) == 0;
    return is && v < 256 ? v : -1;
}

bool io_is_failure(const unsigned char *bytes, size_t n, int *status) {
    const char *p = (const char *)bytes;
    unsigned char want[ABORT_RECORD];
    if (n == 0) return false;
    *status = bytes[n - 1];
    size_t record = io_abort_record(*status, want);
    if (n >= record && memcmp(bytes + n - record, want, record) == 0) return true;
    if (p[n - 1] != '\n') return false;
    size_t len = 1;
    while (len < n && len < FAILURE_LINE && p[n - len - 1] != '\n')
        len++;
    *status = status_of_line(p + n - len, len);
    return *status >= 0;
}
