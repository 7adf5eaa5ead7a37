/* A session with the services of every row registered for the rows below. */
#include "io/text_ops.h"
#include "op/services.h"
#include "tools/tools.h"

Session *tools_session(PanicFn *panic, void *ctx) {
    Session *s = session_new(panic, ctx);
    vm_open(s);
    ad_open(s);
    services(s)->text_op = io_text_op;
    return s;
}
