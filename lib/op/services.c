/* The session's table of services, empty until higher rows fill it. */
#include "op/services.h"

Services *services(Session *s) {
    Services *t = session_slot(s, SLOT_SERVICES);
    if (t) return t;
    t = mem_zalloc(s, 1, sizeof *t);
    session_set_slot(s, SLOT_SERVICES, t, mem_free);
    return t;
}
