/* Static dims: unifying two that must be equal, and broadcasting. */
#include "type/type.h"

Dim dim_meet(Dim a, Dim b) {
    if (dim_is_known(a)) return a;
    if (dim_is_known(b)) return b;
    return dim_is_named(a) ? a : b;
}

/* Broadcasts two dims; false if they don't fit. */
static bool dim_broadcast(Dim a, Dim b, Dim *out) {
    if (a == 1 || b == 1)
        *out = a == 1 ? b : a;
    else if (dim_may_equal(a, b))
        *out = dim_meet(a, b);
    else
        return false;
    return true;
}

int shape_broadcast(int na, const Dim *a, int nb, const Dim *b, Dim *out) {
    int n = na > nb ? na : nb;
    for (int k = 1; k <= n; k++) { /* from the right, since out may be a */
        Dim da = k <= na ? a[na - k] : 1, db = k <= nb ? b[nb - k] : 1;
        if (!dim_broadcast(da, db, &out[n - k])) return -1;
    }
    return n;
}
