#include "base/worker.h"

#include <pthread.h>
#include <signal.h>

struct Worker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    /* under the lock: */
    WorkerJob *first, *last; /* a job stays the first one until it is done */
    bool stop;
};

static void *worker_main(void *arg) {
    Worker *w = arg;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (!w->first && !w->stop)
            pthread_cond_wait(&w->wake, &w->lock);
        WorkerJob *job = w->first;
        if (!job) break;
        pthread_mutex_unlock(&w->lock);
        job->fn(job->ctx);
        pthread_mutex_lock(&w->lock);
        w->first = job->next;
        job->done = true;
        pthread_cond_broadcast(&w->done);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* The giver's thread handles signals. */
static bool start_thread(Worker *w) {
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGBUS); /* goes to the thread that reads a mapped file */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool ok = pthread_create(&w->thread, NULL, worker_main, w) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ok;
}

static void free_parts(Worker *w) {
    pthread_cond_destroy(&w->wake);
    pthread_cond_destroy(&w->done);
    pthread_mutex_destroy(&w->lock);
    mem_free(w);
}

Worker *worker_new(Session *s) {
    Worker *w = mem_zalloc(s, 1, sizeof *w);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, NULL);
    pthread_cond_init(&w->done, NULL);
    if (start_thread(w)) return w;
    free_parts(w);
    return NULL;
}

void worker_free(Worker *w) {
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    free_parts(w);
}

void worker_give(Worker *w, WorkerJob *job) {
    job->next = NULL;
    job->done = false;
    pthread_mutex_lock(&w->lock);
    if (w->first)
        w->last->next = job;
    else
        w->first = job;
    w->last = job;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
}

void worker_wait(Worker *w, const WorkerJob *job) {
    pthread_mutex_lock(&w->lock);
    while (job ? !job->done : w->first != NULL)
        pthread_cond_wait(&w->done, &w->lock);
    pthread_mutex_unlock(&w->lock);
}
