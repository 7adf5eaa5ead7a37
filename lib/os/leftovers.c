/* For changing several files of a folder together: a lock on the folder, and the
 * temporary files of killed writers. */
#include "os/file.h"
#include "os/os_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int file_lock_folder(const char *folder) {
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return -1;
    int r;
    do
        r = flock(fd, LOCK_EX);
    while (r != 0 && errno == EINTR);
    if (r == 0) return fd;
    close(fd);
    return -1;
}

void file_unlock_folder(int lock) {
    if (lock >= 0) close(lock);
}

/* The length of the target's name within a temporary file's name; 0 if it isn't one. */
static size_t temp_target_length(const char *name) {
    static const size_t mark = sizeof TEMP_MARK - 1;
    size_t n = strlen(name);
    if (name[0] != '.' || n <= TEMP_EXTRA) return 0;
    const char *tail = name + n - TEMP_TAIL;
    if (strspn(tail, "abcdefghijklmnopqrstuvwxyz0123456789") != TEMP_TAIL) return 0;
    return memcmp(tail - mark, TEMP_MARK, mark) == 0 ? n - TEMP_EXTRA : 0;
}

/* A live writer holds a lock on its file. */
static bool is_leftover(const char *path) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return false;
    bool left =
        fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return left;
}

void file_each_leftover(Session *s, const char *folder, LeftoverFn *f, void *ctx) {
    DIR *d = opendir(folder);
    if (!d) return;
    Str path = STR(s), target = STR(s);
    for (struct dirent *e; (e = readdir(d));) {
        size_t n = temp_target_length(e->d_name);
        if (!n) continue;
        str_clear(&path);
        str_clear(&target);
        str_printf(&path, "%s/%s", folder, e->d_name);
        str_add(&target, e->d_name + 1, n);
        if (is_leftover(str_text(&path))) f(ctx, str_text(&target), str_text(&path));
    }
    closedir(d);
    str_free(&path);
    str_free(&target);
}
