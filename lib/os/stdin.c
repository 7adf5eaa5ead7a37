/* Waiting for standard input. */
#include "os/stdin.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

bool stdin_wait(void) {
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&in, 1, -1) >= 0 || errno != EINTR;
}
