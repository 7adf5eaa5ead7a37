/* A process that ends by _exit, by a signal that it raises or by abort counts, too:
 * linked with --wrap into the programs of `make coverage`. */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

void __gcov_dump(void);
_Noreturn void __real__exit(int status);
_Noreturn void __real_abort(void);
int __real_raise(int sig);

_Noreturn void __wrap__exit(int status);
_Noreturn void __wrap_abort(void);
int __wrap_raise(int sig);

/* What was counted is written with memory that the test of failing allocations
 * (tests/torture/failalloc.c) would refuse: libgcov dies of that. */
__attribute__((destructor(65535))) static void end_failing(void) {
    void (*end)(void);
    *(void **)&end = dlsym(RTLD_DEFAULT, "failalloc_end");
    if (end) end();
}

/* Where the system refuses calls (tests/unit/os_denied.c), what others have counted
 * can't be read, and would be overwritten. */
extern volatile int calls_are_refused __attribute__((weak));

static void flush(void) {
    end_failing();
    if (!&calls_are_refused || !calls_are_refused) __gcov_dump();
}

_Noreturn void __wrap__exit(int status) {
    flush();
    __real__exit(status);
}

_Noreturn void __wrap_abort(void) {
    flush();
    __real_abort();
}

int __wrap_raise(int sig) {
    flush();
    return __real_raise(sig);
}
