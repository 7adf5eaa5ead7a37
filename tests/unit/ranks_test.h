/* Ranks without MPI: forked processes, a pair of sockets between each two of them. What
 * they share lies in memory that all can write. */
#ifndef RANKS_TEST_H
#define RANKS_TEST_H

#include "op/ranks.h"
#include "op/services.h"
#include "test.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS_MOST = 8 };
static int rank_socket[RANKS_MOST][RANKS_MOST]; /* [own][peer] */

/* One end's way through a message: a length, then the bytes. */
typedef struct Way {
    uint64_t n;
    size_t done; /* with the length */
    char *data;
} Way;

static bool move_some(int fd, Way *w, bool out) {
    bool head = w->done < sizeof w->n;
    char *p = head ? (char *)&w->n + w->done : w->data + (w->done - sizeof w->n);
    size_t left = head ? sizeof w->n - w->done : w->n + sizeof w->n - w->done;
    ssize_t k = out ? send(fd, p, left, MSG_DONTWAIT | MSG_NOSIGNAL)
                    : recv(fd, p, left, MSG_DONTWAIT);
    if (k > 0) w->done += (size_t)k;
    return k > 0;
}

static bool way_is_over(const Way *w) {
    return w->done >= sizeof w->n && w->done == w->n + sizeof w->n;
}

static bool socket_swap(void *ctx, unsigned peer, const void *data, size_t n,
                        void *receive, size_t room, size_t *got) {
    const Ranks *r = ctx;
    int fd = rank_socket[r->rank][peer];
    Way out = {.n = n, .data = (char *)(uintptr_t)data}, in = {.data = receive};
    while (!way_is_over(&out) || !way_is_over(&in)) {
        struct pollfd p = {.fd = fd};
        if (!way_is_over(&out)) p.events |= POLLOUT;
        if (!way_is_over(&in)) p.events |= POLLIN;
        if (poll(&p, 1, 20000) <= 0) return false;
        bool moved = false;
        if (p.revents & POLLOUT && !way_is_over(&out))
            moved |= move_some(fd, &out, true);
        if (p.revents & (POLLIN | POLLHUP) && !way_is_over(&in))
            moved |= move_some(fd, &in, false);
        if (!moved || (in.done >= sizeof in.n && in.n > room)) return false;
    }
    *got = (size_t)in.n;
    return true;
}

/* One rank: true if all is as it should be. */
typedef bool RankWork(Session *s, void *shared);

static int run_rank(unsigned rank, unsigned n, RankWork *work, void *shared) {
    Ranks r = {.rank = rank, .n = n, .swap = socket_swap, .threads = true};
    r.ctx = &r;
    Session *s = session_new(NULL, NULL);
    session_options(s)->threads = 1;
    services(s)->ranks = &r;
    bool ok = work(s, shared);
    ranks_close(&r);
    session_free(s);
    fflush(stdout);
    return !ok;
}

/* How many of n ranks found something wrong, or died. */
static int with_ranks(unsigned n, RankWork *work, void *shared) {
    int bad = 0;
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < i; k++) {
            int pair[2];
            if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return -1;
            rank_socket[i][k] = pair[0];
            rank_socket[k][i] = pair[1];
        }
    fflush(stdout);
    for (unsigned i = 0; i < n; i++)
        if (fork() == 0) _exit(run_rank(i, n, work, shared));
    for (unsigned i = 0; i < n; i++) {
        int status;
        if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status)) bad++;
    }
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < n; k++)
            if (i != k) close(rank_socket[i][k]);
    return bad;
}

static void *shared_memory(size_t n) {
    return mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

#endif
