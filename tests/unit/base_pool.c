/* The pool: every chunk exactly once, many jobs in a row, jobs inside jobs. */
#include "base/session.h"
#include "test.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

enum { CHUNKS = 1000 };

static void nap(long microseconds) {
    nanosleep(&(struct timespec){.tv_nsec = microseconds * 1000}, NULL);
}

typedef struct Job {
    Pool *pool;
    atomic_int hits[CHUNKS], bad;
    uint64_t part[CHUNKS];
} Job;

static void count(void *ctx, size_t chunk, unsigned worker) {
    Job *j = ctx;
    atomic_fetch_add(&j->hits[chunk], 1);
    if (worker >= pool_threads(j->pool)) atomic_fetch_add(&j->bad, 1);
    for (uint64_t i = 0; i < 100; i++)
        j->part[chunk] += chunk * 100 + i;
}

static void check_counts(Pool *p, size_t n) {
    static Job j;
    memset(&j, 0, sizeof j);
    j.pool = p;
    pool_run(p, n, count, &j);
    int bad = atomic_load(&j.bad);
    uint64_t sum = 0, top = n * 100;
    for (size_t i = 0; i < CHUNKS; i++) {
        bad += atomic_load(&j.hits[i]) != (i < n);
        sum += j.part[i];
    }
    CHECK(bad == 0 && sum == (n ? top * (top - 1) / 2 : 0), "%zu chunks: %d", n, bad);
}

typedef struct Nested {
    Pool *pool;
    atomic_int total;
} Nested;

static void inner(void *ctx, size_t chunk, unsigned worker) {
    (void)worker;
    atomic_fetch_add(&((Nested *)ctx)->total, (int)chunk);
}

static void outer(void *ctx, size_t chunk, unsigned worker) {
    (void)chunk;
    (void)worker;
    pool_run(((Nested *)ctx)->pool, 10, inner, ctx);
}

static void test_threads(Session *s, unsigned threads) {
    Pool *p = pool_new(s, threads);
    CHECK(pool_threads(p) == threads);
    for (int i = 0; i < 300; i++)
        check_counts(p, i % 7 == 0 ? CHUNKS : (size_t)i % 40);
    Nested n = {.pool = p};
    pool_run(p, 50, outer, &n);
    CHECK(atomic_load(&n.total) == 50 * 45);
    pool_free(p);
}

/* Workers that fell asleep between jobs, and a caller that falls asleep until the last
 * chunk is done. */
typedef struct Sleepy {
    atomic_int slow, done;
} Sleepy;

static void sleep_in(void *ctx, size_t chunk, unsigned worker) {
    Sleepy *q = ctx;
    (void)chunk;
    if (worker == 0)
        for (int i = 0; i < 1000 && !atomic_load(&q->slow); i++)
            nap(20);
    else if (atomic_fetch_add(&q->slow, 1) == 0)
        nap(5000);
    atomic_fetch_add(&q->done, 1);
}

static void test_sleep(Session *s, unsigned threads) {
    Pool *p = pool_new(s, threads);
    for (int i = 0; i < 20; i++) {
        Sleepy q = {0};
        pool_run(p, 2 + (size_t)i % 5, sleep_in, &q);
        CHECK(atomic_load(&q.done) == 2 + i % 5 && atomic_load(&q.slow) > 0,
              "%u threads: %d chunks, %d of them by workers", threads,
              (int)atomic_load(&q.done), (int)atomic_load(&q.slow));
        nap(i % 3 * 300);
        check_counts(p, (size_t)i + 2);
    }
    pool_free(p);
}

static int allowed_cores(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

static void note_cores(void *ctx, size_t chunk, unsigned worker) {
    atomic_int *cores = ctx;
    (void)chunk;
    if (worker) atomic_store(cores, allowed_cores());
    while (!atomic_load(cores)) /* till a worker has had a chunk */
        sched_yield();
}

/* Workers keep off the caller's core, unless there are too few for all. */
static void test_cores(Session *s) {
    int all = allowed_cores();
    for (int threads = 2; threads <= all + 1; threads += all > 2 ? all - 1 : 1) {
        Pool *p = pool_new(s, (unsigned)threads);
        atomic_int cores = 0;
        pool_run(p, 2, note_cores, &cores);
        CHECK(cores == (threads <= all ? all - 1 : all), "%d threads: %d of %d cores",
              threads, (int)cores, all);
        pool_free(p);
    }
}

int main(void) {
    Session *s = session_new(NULL, NULL);
    for (unsigned t = 1; t <= 5; t++)
        test_threads(s, t);
    for (unsigned t = 2; t <= 10; t += 4)
        test_sleep(s, t);
    test_threads(s, 11);
    test_cores(s);
    pool_free(pool_new(s, 3)); /* never used */
    CHECK(pool_threads(session_pool(s)) >= 1);
    CHECK(session_pool(s) == session_pool(s));
    check_counts(session_pool(s), CHUNKS);
    session_free(s);
    return TEST_END("base_pool");
}
