/* A pool of threads. The caller takes chunks like any worker. Each has a share of them,
 * which it takes from the front; what others have left is then taken from the back. So
 * cores seldom write to the same line, and in job after job a part of a tensor mostly
 * stays with one core and in its cache. Workers that wake up too late for a job find it
 * closed and go back to sleep, so even on a busy machine the caller never waits for a
 * thread that has done nothing. Both sides spin for some microseconds before they
 * sleep, and take the lock only for that: each line of memory that cores send each
 * other takes some hundred nanoseconds. Linux often wakes a thread on the core of the
 * one that wakes it, where it waits until the job is over, time after time: workers may
 * use any core but the caller's. */
#include "base/pool.h"

#include "base/session.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

enum { THREADS_MAX = 1024, SPINS = 1500, SHARES = 8 };

typedef struct PoolJob {
    ChunkFn *fn;
    void *ctx;
    size_t n;
    unsigned shares;
} PoolJob;

/* Chunks of a share that were taken. */
typedef union Taken {
    struct {
        uint32_t front, back;
    };
    uint64_t both;
} Taken;

/* What one side writes while others read it lies on lines of its own. */
enum { LINE = 128 };
typedef struct PoolShare {
    _Atomic uint64_t taken; /* Taken */
    char apart[LINE - sizeof(uint64_t)];
} PoolShare;
struct Pool {
    Session *s;
    unsigned threads, started; /* started: workers besides the caller */
    bool running;              /* the caller is inside pool_run */
    int core;                  /* the caller's, which workers keep off; -1: none yet */
    pthread_t *thread;         /* written before the first job, under the lock */
    pthread_mutex_t lock;      /* held by who falls asleep, and by who wakes others */
    pthread_cond_t wake, idle;
    char apart_1[LINE];
    PoolJob job;            /* written while none is open and no worker active */
    atomic_uint generation; /* odd: a job is open */
    atomic_bool stop;
    atomic_bool waiting;  /* the caller sleeps until no worker is active */
    atomic_uint sleeping; /* workers */
    char apart_2[LINE];
    atomic_uint active; /* workers that may be at a job */
    char apart_3[LINE];
    PoolShare share[SHARES]; /* with more workers than these, several have one */
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
static bool take_chunk(Pool *p, const PoolJob *job, unsigned share, bool own,
                       size_t *i) {
    _Atomic uint64_t *all = &p->share[share].taken;
    size_t first = job->n * share / job->shares,
           end = job->n * (share + 1) / job->shares;
    Taken taken = {.both = atomic_load_explicit(all, memory_order_relaxed)}, now;
    do {
        if ((size_t)taken.front + taken.back >= end - first) return false;
        now = taken;
        *i = own ? first + now.front++ : end - ++now.back;
    } while (!atomic_compare_exchange_weak_explicit(
        all, &taken.both, now.both, memory_order_relaxed, memory_order_relaxed));
    return true;
}

static void run_chunks(Pool *p, PoolJob job, unsigned worker) {
    size_t i;
    for (unsigned k = 0; k < job.shares; k++)
        while (take_chunk(p, &job, (worker + k) % job.shares, k == 0, &i))
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

/* Either this finds the job closed, or the caller finds a worker active. */
static void work(Pool *p, unsigned generation, unsigned me) {
    atomic_fetch_add(&p->active, 1);
    if (atomic_load(&p->generation) == generation) run_chunks(p, p->job, me);
    if (atomic_fetch_sub(&p->active, 1) != 1 || !atomic_load(&p->waiting)) return;
    pthread_mutex_lock(&p->lock);
    pthread_cond_signal(&p->idle);
    pthread_mutex_unlock(&p->lock);
}

static void sleep_while(Pool *p, unsigned generation) {
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->sleeping, 1);
    while (!atomic_load(&p->stop) && atomic_load(&p->generation) == generation)
        pthread_cond_wait(&p->wake, &p->lock);
    atomic_fetch_sub(&p->sleeping, 1);
    pthread_mutex_unlock(&p->lock);
}

static void *worker_main(void *arg) {
    Pool *p = arg;
    unsigned seen = 0;
    pthread_mutex_lock(&p->lock);
    unsigned me = this_worker(p);
    pthread_mutex_unlock(&p->lock);
    while (!atomic_load(&p->stop)) {
        unsigned now = atomic_load(&p->generation);
        if (now % 2 && now != seen) {
            work(p, now, me);
            seen = now;
        } else {
            spin_while(&p->generation, now);
            if (atomic_load(&p->generation) == now) sleep_while(p, now);
        }
    }
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
    p->job = job;
    for (unsigned k = 0; k < job.shares; k++)
        atomic_store_explicit(&p->share[k].taken, 0, memory_order_relaxed);
    atomic_fetch_add(&p->generation, 1);
    if (!atomic_load(&p->sleeping)) return;
    pthread_mutex_lock(&p->lock);
    if (job.n > p->started)
        pthread_cond_broadcast(&p->wake);
    else
        for (size_t i = 1; i < job.n; i++)
            pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

static void close_job(Pool *p) {
    atomic_fetch_add(&p->generation, 1);
    for (int i = 0; i < SPINS && atomic_load(&p->active); i++)
        pause_cpu();
    if (!atomic_load(&p->active)) return;
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->waiting, true);
    while (atomic_load(&p->active))
        pthread_cond_wait(&p->idle, &p->lock);
    atomic_store(&p->waiting, false);
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
    PoolJob job = {fn, ctx, n, p->started < SHARES ? p->started + 1 : SHARES};
    open_job(p, job);
    run_chunks(p, job, 0);
    close_job(p);
    p->running = false;
}

void pool_free(Pool *p) {
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->stop, true);
    atomic_fetch_add(&p->generation, 2); /* ends spinning */
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
