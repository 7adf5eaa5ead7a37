/* What this machine offers: instruction sets and memory. Detected once, on first
 * use. */
#include "base/cpu.h"

#include "base/session_impl.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

/* x86-64-v3 and v4, as those who named them define them. */
static int detect_cpu_level(void) {
#if defined(__x86_64__)
    if (!(CPU_HAS(AVX2) && CPU_HAS(FMA) && CPU_HAS(BMI1) && CPU_HAS(BMI2) &&
          CPU_HAS(MOVBE) && CPU_HAS(F16C) && CPU_HAS(LZCNT)))
        return 0;
    return CPU_HAS(AVX512F) && CPU_HAS(AVX512BW) && CPU_HAS(AVX512CD) &&
                   CPU_HAS(AVX512DQ) && CPU_HAS(AVX512VL)
               ? 2
               : 1;
#else
    return 0;
#endif
}

int session_cpu_level(Session *s) {
    if (s->cpu_level < 0) s->cpu_level = detect_cpu_level();
    int wanted = s->options.cpu_level;
    return wanted >= 0 && wanted < s->cpu_level ? wanted : s->cpu_level;
}

/* ---- memory ---- */

/* W^X: never writable and executable at once. */
void *cpu_map_code(const void *code, size_t n) {
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    memcpy(p, code, n);
    __builtin___clear_cache(p, (char *)p + n); /* where instructions have their own */
    if (mprotect(p, n, PROT_READ | PROT_EXEC) == 0) return p;
    munmap(p, n);
    return NULL;
}

void cpu_unmap_code(void *code, size_t n) {
    if (code) munmap(code, n);
}

static bool read_first_line(const char *path, char *line, int size) {
    FILE *f = fopen(path, "re");
    if (!f) return false;
    bool ok = fgets(line, size, f) != NULL;
    fclose(f);
    return ok;
}

/* A cgroup's limit; UINT64_MAX if there is none ("max", or v1's huge number). */
static uint64_t read_cgroup_file(const char *path) {
    char line[64];
    if (!read_first_line(path, line, sizeof line) || line[0] < '0' || line[0] > '9')
        return UINT64_MAX;
    return strtoull(line, NULL, 10);
}

/* The smallest limit of a group and its parents, any of which can kill. Shortens
 * `group`. */
static uint64_t least_cgroup_limit(const char *mount, char *group, const char *file) {
    char path[PATH_MAX];
    uint64_t least = UINT64_MAX;
    for (;;) {
        int n = snprintf(path, sizeof path, "%s%s/%s", mount, group, file);
        if (n > 0 && (size_t)n < sizeof path) {
            uint64_t limit = read_cgroup_file(path);
            if (limit < least) least = limit;
        }
        char *slash = strrchr(group, '/');
        if (!slash) return least;
        *slash = '\0';
    }
}

/* The limit from a line of /proc/self/cgroup, "number:controllers:/group". */
static uint64_t cgroup_line_limit(char *line) {
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) return UINT64_MAX;
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    if (strcmp(group, "/") == 0) *group = '\0';
    if (controllers[1] == '\0')
        return least_cgroup_limit("/sys/fs/cgroup", group, "memory.max");
    if (strcmp(controllers + 1, "memory") != 0) return UINT64_MAX;
    return least_cgroup_limit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
}

static uint64_t cgroup_limit(void) {
    char line[PATH_MAX + 64];
    uint64_t least = UINT64_MAX;
    FILE *f = fopen("/proc/self/cgroup", "re");
    if (!f) return least;
    while (fgets(line, sizeof line, f)) {
        uint64_t limit = cgroup_line_limit(line);
        if (limit < least) least = limit;
    }
    fclose(f);
    return least;
}

uint64_t session_max_memory(Session *s) {
    if (s->options.max_memory) return s->options.max_memory;
    if (s->max_memory == 0) {
        struct sysinfo info;
        uint64_t ram = sysinfo(&info) == 0 ? (uint64_t)info.totalram * info.mem_unit
                                           : UINT64_C(4) << 30;
        uint64_t group = cgroup_limit(), least = group < ram ? group : ram;
        s->max_memory = least - least / 10;
    }
    return s->max_memory;
}

/* No machine has less that runs the tools at all. To find out what it has, several
 * files are read. */
enum { SURE_MEMORY = 16 << 20 };

bool session_exceeds_memory(Session *s, uint64_t bytes) {
    if (bytes <= SURE_MEMORY && !s->options.max_memory) return false;
    return bytes > session_max_memory(s);
}
