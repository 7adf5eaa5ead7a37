/* Opens a file that a graph file names: only below the given folder, whatever the name
 * contains and whatever links are on the way. */
#include "os/file.h"
#include "os/os_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FILE_FLAGS = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY };

/* Not empty, not absolute, and no ".." component. */
static bool is_path_below(const char *rel) {
    if (rel[0] == '\0' || rel[0] == '/') return false;
    for (const char *p = rel; *p;) {
        size_t n = strcspn(p, "/");
        if (n == 2 && p[0] == '.' && p[1] == '.') return false;
        p += n + (p[n] == '/');
    }
    return true;
}

/* Without openat2: opens folder by folder, refusing links. */
static int open_by_steps(int dir, const char *rel) {
    char part[NAME_MAX + 1];
    int at = dir;
    for (;;) {
        rel += strspn(rel, "/");
        size_t n = strcspn(rel, "/");
        bool last = rel[n] == '\0';
        int fd = -1;
        errno = ENAMETOOLONG;
        if (n <= NAME_MAX) {
            memcpy(part, rel, n);
            part[n] = '\0';
            fd = openat(at, part,
                        last ? FILE_FLAGS
                             : O_PATH | O_CLOEXEC | O_NOFOLLOW | O_DIRECTORY);
        }
        int error = errno;
        if (at != dir) close(at);
        errno = error;
        if (fd < 0 || last) return fd;
        at = fd;
        rel += n;
    }
}

static int open_below(int dir, const char *rel) {
#ifdef SYS_openat2
    struct open_how how = {.flags = FILE_FLAGS,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
                                      RESOLVE_NO_MAGICLINKS};
    for (int i = 0; i < 100; i++) {
        int fd = (int)syscall(SYS_openat2, dir, rel, &how, sizeof how);
        if (fd >= 0) return fd;
        if (errno == ENOSYS || errno == EPERM) break; /* an old kernel, or a sandbox */
        if (errno != EAGAIN && errno != EINTR) return -1;
    }
#endif
    return open_by_steps(dir, rel);
}

static bool refuse_file(Session *s, const char *rel, const char *why) {
    return fail(s, NOWHERE, E_VALUE, "refused to read the file \"%s\": %s", rel, why);
}

static bool check_plain_file(Session *s, int fd, const char *rel) {
    struct stat st;
    if (fstat(fd, &st) != 0) return file_fail_os(s, "read", rel, errno);
    if (!S_ISREG(st.st_mode)) return refuse_file(s, rel, "it is not a regular file");
    if (st.st_nlink > 1)
        return refuse_file(s, rel, "it has more than one name (hard links)");
    return true;
}

bool file_read_below(Session *s, const char *base, const char *rel, uint64_t limit,
                     FileData *out) {
    *out = (FileData){(const unsigned char *)"", 0, false, NULL};
    if (!is_path_below(rel))
        return refuse_file(s, rel,
                           "the name must lead to a file below the graph's folder, "
                           "without \"..\" and not from \"/\"");
    if (base[0] == '\0') base = ".";
    int dir = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) return file_fail_os(s, "open", base, errno);
    int fd = open_below(dir, rel);
    int error = errno;
    close(dir);
    if (fd < 0 && (error == ELOOP || error == EXDEV))
        return refuse_file(s, rel,
                           "it is a symbolic link, or its path goes through one");
    if (fd < 0) return file_fail_os(s, "open", rel, error);
    Str path = STR(s);
    if (strcmp(base, ".") != 0) str_printf(&path, "%s/", base);
    str_puts(&path, rel);
    bool ok = check_plain_file(s, fd, rel) &&
              file_read_fd(s, fd, str_text(&path), limit, out);
    str_free(&path);
    close(fd);
    return ok;
}
