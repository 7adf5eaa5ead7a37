/* A pool of threads. The caller takes chunks like any worker, from the front; workers
 * take them from the back, so that in job after job a part of a tensor mostly stays
 * with one core and in its cache. Workers that wake up too late for a job find it
 * closed and go back to sleep, so even on a busy machine the caller never waits for a
 * thread that has done nothing. Both sides spin for some microseconds before they
 * sleep. Linux often wakes a thread on the core of the one that wakes it, where it
 * waits until the job is over, time after time: workers may use any core but the
 * caller's. */
#include "base/pool.h"

#include "base/session.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

enum { THREADS_MAX = 1024, SPINS = 1500 };

typedef struct PoolJob {
    ChunkFn *fn;
    void *ctx;
    size_t n;
} PoolJob;

/* Chunks of a job that were taken. */
typedef union Taken {
    struct {
        uint32_t front, back;
    };
    uint64_t both;
} Taken;

struct Pool {
    Session *s;
    unsigned threads, started; /* started: workers besides the caller */
    bool running;              /* the caller is inside pool_run */
    int core;                  /* the caller's, which workers keep off; -1: none yet */
    pthread_t *thread;         /* written before the first job, under the lock */
    pthread_mutex_t lock;
    pthread_cond_t wake, idle;
    /* under the lock: */
    PoolJob job;
    bool open, stop;
    /* also read while spinning: */
    atomic_uint generation, active;
    _Atomic uint64_t taken; /* Taken */
};

static unsigned core_count(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return (unsigned)CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned)n : 1;
}

Pool *pool_new(Session *s, unsigned threads) {
    Pool *p = mem_zalloc(s, 1, sizeof *p);
    p->s = s;
    p->threads = threads ? threads : core_count();
    if (p->threads > THREADS_MAX) p->threads = THREADS_MAX;
    p->core = -1;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_cond_init(&p->idle, NULL);
    return p;
}

unsigned pool_threads(const Pool *p) {
    return p ? p->threads : 1;
}

static void pause_cpu(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Spins for a short while as long as *v == old. */
static void spin_while(atomic_uint *v, unsigned old) {
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(v, memory_order_acquire) != old) return;
        pause_cpu();
    }
}

/* False: there is none left. */
static bool take_chunk(Pool *p, size_t n, bool front, size_t *i) {
    Taken taken = {.both = atomic_load_explicit(&p->taken, memory_order_relaxed)}, now;
    do {
        if ((size_t)taken.front + taken.back >= n) return false;
        now = taken;
        *i = front ? now.front++ : n - ++now.back;
    } while (!atomic_compare_exchange_weak_explicit(
        &p->taken, &taken.both, now.both, memory_order_relaxed, memory_order_relaxed));
    return true;
}

static void run_chunks(Pool *p, PoolJob job, unsigned worker) {
    size_t i;
    while (take_chunk(p, job.n, worker == 0, &i))
        job.fn(job.ctx, i, worker);
}

/* The calling thread's number: workers are 1.., any other thread counts as the caller,
 * 0. */
static unsigned this_worker(const Pool *p) {
    pthread_t self = pthread_self();
    for (unsigned i = 0; i < p->started; i++)
        if (pthread_equal(p->thread[i], self)) return i + 1;
    return 0;
}

static void *worker_main(void *arg) {
    Pool *p = arg;
    unsigned seen = 0;
    pthread_mutex_lock(&p->lock);
    unsigned me = this_worker(p);
    while (!p->stop) {
        unsigned now = atomic_load(&p->generation);
        if (p->open && now != seen) {
            PoolJob job = p->job;
            atomic_fetch_add(&p->active, 1);
            pthread_mutex_unlock(&p->lock);
            run_chunks(p, job, me);
            pthread_mutex_lock(&p->lock);
            if (atomic_fetch_sub(&p->active, 1) == 1) pthread_cond_signal(&p->idle);
            seen = now;
        } else {
            pthread_mutex_unlock(&p->lock);
            spin_while(&p->generation, now);
            pthread_mutex_lock(&p->lock);
            while (!p->stop && atomic_load(&p->generation) == now)
                pthread_cond_wait(&p->wake, &p->lock);
        }
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Only the caller's thread handles signals. If a thread can't be created, the pool does
 * without it. */
static void start_workers(Pool *p) {
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGBUS); /* goes to the thread that reads a mapped file */
    p->thread = mem_zalloc(p->s, p->threads, sizeof *p->thread);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_mutex_lock(&p->lock);
    while (p->started + 1 < p->threads &&
           pthread_create(&p->thread[p->started], NULL, worker_main, p) == 0)
        p->started++;
    pthread_mutex_unlock(&p->lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Not if there are more threads than cores: the caller's would be idle while it waits.
 */
static void keep_off_caller(Pool *p) {
    cpu_set_t set;
    int core = sched_getcpu();
    if (core < 0 || core == p->core) return;
    p->core = core;
    if (sched_getaffinity(0, sizeof set, &set) != 0 ||
        !CPU_ISSET((unsigned)core, &set) || (unsigned)CPU_COUNT(&set) <= p->started)
        return;
    CPU_CLR((unsigned)core, &set);
    for (unsigned i = 0; i < p->started; i++)
        pthread_setaffinity_np(p->thread[i], sizeof set, &set);
}

static void open_job(Pool *p, PoolJob job) {
    keep_off_caller(p);
    pthread_mutex_lock(&p->lock);
    p->job = job;
    p->open = true;
    atomic_store(&p->taken, 0);
    atomic_fetch_add(&p->generation, 1);
    if (job.n > p->started)
        pthread_cond_broadcast(&p->wake);
    else
        for (size_t i = 1; i < job.n; i++)
            pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

static void close_job(Pool *p) {
    pthread_mutex_lock(&p->lock);
    p->open = false;
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < SPINS && atomic_load(&p->active); i++)
        pause_cpu();
    pthread_mutex_lock(&p->lock);
    while (atomic_load(&p->active))
        pthread_cond_wait(&p->idle, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

static void run_chunks_inline(size_t n, ChunkFn *fn, void *ctx, unsigned worker) {
    for (size_t i = 0; i < n; i++)
        fn(ctx, i, worker);
}

void pool_run(Pool *p, size_t n, ChunkFn *fn, void *ctx) {
    unsigned me = p && p->thread ? this_worker(p) : 0;
    if (me != 0) {
        run_chunks_inline(n, fn, ctx, me);
        return;
    }
    if (!p || n <= 1 || n > UINT32_MAX || p->threads == 1 || p->running) {
        run_chunks_inline(n, fn, ctx, 0);
        return;
    }
    if (!p->thread) start_workers(p);
    p->running = true;
    PoolJob job = {fn, ctx, n};
    open_job(p, job);
    run_chunks(p, job, 0);
    close_job(p);
    p->running = false;
}

void pool_free(Pool *p) {
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    atomic_fetch_add(&p->generation, 1);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->started; i++)
        pthread_join(p->thread[i], NULL);
    pthread_cond_destroy(&p->wake);
    pthread_cond_destroy(&p->idle);
    pthread_mutex_destroy(&p->lock);
    mem_free(p->thread);
    mem_free(p);
}
