#include "cli/ranks.h"

#include "base/map.h"
#include "mpi/tl_mpi.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct RankProcess {
    int64_t pid;
    uint64_t host;
} RankProcess;
/* One rank's part of a run. */
struct RunRanks {
    Ranks ranks;
    const TlMpi *mpi;
    RankProcess *process; /* by rank */
    bool over;            /* the ranks have agreed: who ends now isn't missed */
    atomic_uint told;     /* rank + 1 of the first that says why it ends; 0: none */
};

/* ---- finding the library ---- */

/* Parts and their merging need no ranks, whatever starts them. Options aren't read
 * yet: look ahead. */
static bool is_alone(const Run *r) {
    bool alone = false;
    for (int i = 1; i < r->argc && strcmp(r->argv[i], "--") != 0; i++)
        alone |=
            strncmp(r->argv[i], "--part", 6) == 0 || strcmp(r->argv[i], "--merge") == 0;
    return alone;
}

/* Is this one of several processes of mpirun, or of srun --mpi=pmix? */
static bool is_rank(const Run *r) {
    return (getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMIX_RANK")) && !is_alone(r);
}

/* Folders beside the program's: of a build, and of installations. */
static const char *const folders[] = {"..", "../lib/thunkline",
#ifdef TL_MULTIARCH
                                      "../lib/" TL_MULTIARCH "/thunkline"
#endif
};

static const char *find_library(Run *r) {
    Arena *a = session_arena(r->s);
    char self[4096];
    struct stat st;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    const char *path = "";
    if (n <= 0) return NULL;
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        path = arena_printf(a, "%s/%s/tl_mpi.so", self, folders[i]);
        if (stat(path, &st) == 0) return path;
    }
    const char *size = getenv("OMPI_COMM_WORLD_SIZE"),
               *rank = getenv("OMPI_COMM_WORLD_RANK");
    fail(r->s, NOWHERE, E_IO,
         "this is one of %s processes of mpirun, but tl_mpi.so, by which they talk, is "
         "not there",
         size ? size : "several");
    note(r->s, NOWHERE,
         "make mpi installs Open MPI and builds it; make install puts it into "
         "lib/thunkline beside the tools");
    /* mpirun ends all when one does, if not at once: the first one speaks. The others
     * do if it has a library on its machine. */
    if (rank && strcmp(rank, "0") != 0) sleep(5);
    return NULL;
}

static const TlMpi *load_library(Run *r) {
    const char *path = find_library(r);
    void *handle = path ? plugin_open(r->s, path) : NULL;
    if (!handle) return NULL;
    const TlMpi *mpi = dlsym(handle, TL_MPI_SYMBOL);
    if (!mpi) {
        fail(r->s, NOWHERE, E_PLUGIN, "%s has no " TL_MPI_SYMBOL, path);
        return NULL;
    }
    if (strcmp(mpi->version, TL_VERSION) == 0) return mpi;
    fail(r->s, NOWHERE, E_PLUGIN, "%s is of version %s, but this is %s", path,
         mpi->version, TL_VERSION);
    note(r->s, NOWHERE, "make mpi, or make install, builds it anew");
    return NULL;
}

/* ---- begin ---- */

static bool learn_processes(Run *r, struct RunRanks *w) {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    RankProcess own = {.pid = getpid(), .host = hash_bytes(host, strlen(host), 1)};
    RankDoing doing = {.what = "its start"};
    w->process = NEW_N(session_arena(r->s), w->ranks.n, RankProcess);
    return ranks_gather(r->s, &doing, &own, sizeof own, w->process);
}

bool rank_open(Run *r) {
    const char *why = NULL;
    if (!r->tool->ranked || !is_rank(r)) return true;
    const TlMpi *mpi = load_library(r);
    if (!mpi) return false;
    struct RunRanks *w = NEW(session_arena(r->s), struct RunRanks);
    w->mpi = mpi;
    if (!mpi->open(&w->ranks, &why))
        return fail(r->s, NOWHERE, E_RUN, "MPI can't begin: %s", why);
    r->ranks = w;
    if (w->ranks.n & (w->ranks.n - 1)) {
        unsigned n = w->ranks.n;
        w->ranks.end = (RanksEnd){true, 0, diag_exit(E_USAGE)};
        return fail(r->s, NOWHERE, E_USAGE,
                    "the number of ranks must be a power of two, not %u", n);
    }
    services(r->s)->ranks = &w->ranks;
    if (!learn_processes(r, w)) return false;
    session_log(r->s, "rank %u of %u", w->ranks.rank, w->ranks.n);
    return true;
}

bool rank_is_first(const Run *r) {
    return !r->ranks || r->ranks->ranks.rank == 0;
}

unsigned rank_threads(const Run *r) {
    const char *local = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    int n = r->ranks && local ? atoi(local) : 1;
    cpu_set_t set;
    if (n <= 1 || sched_getaffinity(0, sizeof set, &set) != 0) return 0;
    int cores = CPU_COUNT(&set) / n;
    return cores > 1 ? (unsigned)cores : 1;
}

/* ---- end ---- */

bool rank_settle(Run *r, bool ok, bool *reports) {
    struct RunRanks *w = r->ranks;
    *reports = true;
    if (!w || w->ranks.n == 1) return ok;
    RankDoing doing = {.what = "its end"};
    if (ok)
        ok = ranks_gather(r->s, &doing, "", 1,
                          NEW_N(session_arena(r->s), w->ranks.n, char));
    const Diag *first = diag_first_error(r->s);
    if (!ok) ranks_fail(r->s, first ? first->exit : 70);
    w->over = true;
    *reports = ok ? w->ranks.rank == 0 : w->ranks.end.rank == w->ranks.rank;
    *reports = *reports && (ok ? !atomic_load(&w->told) : rank_explains(r));
    return ok;
}

bool rank_explains(const Run *r) {
    const struct RunRanks *w = r->ranks;
    if (!w || w->ranks.n == 1) return true;
    if (atomic_load(&w->told)) return false;
    note(r->s, NOWHERE, "this was rank %u of %u", w->ranks.rank, w->ranks.n);
    return true;
}

int rank_status(const Run *r, int status) {
    return r->ranks && r->ranks->ranks.end.known ? r->ranks->ranks.end.status : status;
}

/* The rank that reports a failure ends all, as MPI has it, once the others have heard
 * of it too; they wait for that. */
static void close_failed(const struct RunRanks *w, int status) {
    if (w->ranks.end.known && w->ranks.end.rank != w->ranks.rank)
        sleep(5);
    else
        usleep(100000);
    w->mpi->close(false, status);
}

void rank_close(Run *r, int status) {
    struct RunRanks *w = r->ranks;
    if (w && !w->ranks.lost) ranks_close(&w->ranks);
    if (w && status && w->ranks.n > 1)
        close_failed(w, status);
    else if (w)
        w->mpi->close(true, status);
    r->ranks = NULL;
    services(r->s)->ranks = NULL;
}

/* ---- who says why ---- */

void rank_told(const Run *r, int by) {
    struct RunRanks *w = r->ranks;
    unsigned none = 0;
    if (!w || by < 0 || (unsigned)by >= w->ranks.n) return;
    atomic_compare_exchange_strong(&w->told, &none, (unsigned)by + 1);
}

/* Of several that end at the same time the first speaks: the others wait for its
 * signal. */
bool rank_may_panic(const Run *r) {
    struct RunRanks *w = r->ranks;
    if (!w || !w->process || w->ranks.n == 1) return true;
    unsigned own = w->ranks.rank;
    if (atomic_load(&w->told)) return false;
    for (unsigned i = 0; i < w->ranks.n; i++)
        if (i != own && w->process[i].host == w->process[own].host)
            sigqueue((pid_t)w->process[i].pid, RANK_TOLD,
                     (union sigval){.sival_int = (int)own});
    for (int i = 0; i < 20 && own > 0 && !atomic_load(&w->told); i++)
        usleep(10000);
    return atomic_load(&w->told) == 0 || atomic_load(&w->told) > own;
}

void rank_where(const Run *r, char text[48]) {
    const struct RunRanks *w = r->ranks;
    *text = '\0';
    if (w && w->ranks.n > 1)
        snprintf(text, 48, " on rank %u of %u", w->ranks.rank, w->ranks.n);
}

/* ---- who is gone ---- */

/* A process that has ended but is not yet forgotten by its parent is gone, too. */
static bool is_gone(pid_t pid) {
    char path[40], text[256];
    if (kill(pid, 0) != 0) return errno == ESRCH;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return true;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *state = strrchr(text, ')');
    return state && (state[2] == 'Z' || state[2] == 'X');
}

void rank_note_gone(const Run *r) {
    const struct RunRanks *w = r->ranks;
    if (!w || !w->process || w->over || w->ranks.end.known || w->ranks.n == 1 ||
        atomic_load(&w->told))
        return;
    unsigned own = w->ranks.rank, gone = w->ranks.n;
    for (unsigned i = 0; i < w->ranks.n; i++) {
        if (w->process[i].host != w->process[own].host || i == own) continue;
        bool is = is_gone((pid_t)w->process[i].pid);
        if (!is && i < own) return; /* it says so */
        if (is && gone == w->ranks.n) gone = i;
    }
    if (gone == w->ranks.n) return;
    char text[200];
    int n =
        snprintf(text, sizeof text,
                 "%.100s: error[E_RUN]: rank %u (process %lld) is gone: the run ends\n",
                 r->program, gone, (long long)w->process[gone].pid);
    ssize_t done = write(STDERR_FILENO, text, (size_t)n);
    (void)done;
}
