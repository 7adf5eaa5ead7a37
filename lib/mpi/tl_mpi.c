#include "mpi/tl_mpi.h"

#include <mpi.h>
#include <stdlib.h>
#include <time.h>

enum { CHUNK = 1 << 30, TAG = 7 };

static size_t chunks_of(size_t n) {
    return n / CHUNK + (n % CHUNK != 0 || n == 0);
}

static int chunk_at(size_t n, size_t i) {
    size_t left = n - i * CHUNK;
    return left < CHUNK ? (int)left : CHUNK;
}

/* One message in each direction. */
typedef struct Pair {
    const void *send;
    void *receive;
    int n, room, to, from;
} Pair;

/* Beside other work, which is to have the core while nothing comes. */
static bool swap_patiently(const Ranks *r, const Pair *p, MPI_Status *status) {
    enum { SPINS = 50 };
    static const struct timespec pause = {.tv_nsec = 20000};
    MPI_Request q[2];
    MPI_Status both[2];
    int done = 0;
    if (MPI_Irecv(p->receive, p->room, MPI_BYTE, p->from, TAG, MPI_COMM_WORLD, &q[0]) !=
            MPI_SUCCESS ||
        MPI_Isend(p->send, p->n, MPI_BYTE, p->to, TAG, MPI_COMM_WORLD, &q[1]) !=
            MPI_SUCCESS)
        return false;
    for (int i = 0; !done && atomic_load(&r->patient); i++) {
        if (MPI_Testall(2, q, &done, both) != MPI_SUCCESS) return false;
        if (!done && i >= SPINS) nanosleep(&pause, NULL);
    }
    if (!done && MPI_Waitall(2, q, both) != MPI_SUCCESS) return false;
    *status = both[0];
    return true;
}

static bool swap_at_once(const Pair *p, MPI_Status *status) {
    return MPI_Sendrecv(p->send, p->n, MPI_BYTE, p->to, TAG, p->receive, p->room,
                        MPI_BYTE, p->from, TAG, MPI_COMM_WORLD, status) == MPI_SUCCESS;
}

/* MPI counts in int: more goes in several messages. */
static bool mpi_swap(void *ctx, unsigned peer, const void *send, size_t n,
                     void *receive, size_t room, size_t *got) {
    const Ranks *r = ctx;
    size_t out = chunks_of(n), in = chunks_of(room);
    *got = 0;
    for (size_t i = 0; i < out || i < in; i++) {
        bool sends = i < out, receives = i < in;
        MPI_Status status;
        int some = 0;
        Pair p = {.send = (const char *)send + i * (sends ? CHUNK : 0),
                  .receive = (char *)receive + i * (receives ? CHUNK : 0),
                  .n = sends ? chunk_at(n, i) : 0,
                  .room = receives ? chunk_at(room, i) : 0,
                  .to = sends ? (int)peer : MPI_PROC_NULL,
                  .from = receives ? (int)peer : MPI_PROC_NULL};
        bool ok = atomic_load(&r->patient) ? swap_patiently(r, &p, &status)
                                           : swap_at_once(&p, &status);
        if (!ok) return false;
        if (receives) MPI_Get_count(&status, MPI_BYTE, &some);
        *got += (size_t)some;
    }
    return true;
}

static bool mpi_open(Ranks *r, const char **why) {
    int level, rank, n;
    /* between processes of a machine, gradients of small models go at once, without
     * asking first: unless the user says otherwise */
    setenv("OMPI_MCA_btl_vader_eager_limit", "65536", 0);
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS)
        return *why = "MPI_Init_thread failed", false;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    r->rank = (unsigned)rank;
    r->n = (unsigned)n;
    r->swap = mpi_swap;
    r->ctx = r;
    r->threads = level >= MPI_THREAD_SERIALIZED;
    return true;
}

static void mpi_close(bool whole, int status) {
    if (whole)
        MPI_Finalize();
    else
        MPI_Abort(MPI_COMM_WORLD, status);
}

extern const TlMpi tl_mpi;
__attribute__((visibility("default")))
const TlMpi tl_mpi = {.version = TL_VERSION, .open = mpi_open, .close = mpi_close};
