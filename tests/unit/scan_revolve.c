/* The schedule of scan/revolve.h against the closed form of the fewest steps, and that
 * against all orders there are. */
#include "scan/revolve.h"
#include "test.h"

#include <stdlib.h>

enum { STEPS = 2000, STATES = 32 };

/* (n choose k), at most 1e15. */
static double choose(int n, int k) {
    double c = 1;
    for (int i = 1; i <= k && c < 1e15; i++)
        c = c * (n - k + i) / i;
    return c;
}

/* Griewank and Walther: r steps - (states + r choose states + 1), for the least r with
 * (states + r choose states) >= steps. */
static int64_t fewest(int steps, int states) {
    int r = 0;
    while (choose(states + r, states) < steps)
        r++;
    return (int64_t)(r * (double)steps - choose(states + r, states + 1));
}

/* advances[s][t]: as revolve_advances, without its recursion for each. */
static int64_t advances[STATES + 1][STEPS + 1];

static void test_closed_form(void) {
    int wrong = 0, outside = 0;
    for (int s = 1; s <= STATES; s++)
        for (int t = 1; t <= STEPS; t++) {
            int64_t k = t <= s + 1 ? 0 : revolve_split(t, s);
            if (t > s + 1 && (k < 1 || k >= t || (s == 1 && k != t - 1))) {
                outside++;
                continue;
            }
            advances[s][t] =
                t <= s + 1 ? t - 1
                           : k + (s > 1 ? advances[s - 1][t - k] : 0) + advances[s][k];
            wrong += advances[s][t] != fewest(t, s);
        }
    CHECK(outside == 0, "%d", outside);
    CHECK(wrong == 0, "%d of %d are not the fewest", wrong, STEPS * STATES);
    for (int s = 2; s <= STATES; s += 3)
        CHECK(revolve_advances(1999, s) == advances[s][1999], "%d", s);
}

/* All orders: any k may be advanced first. */
static void test_all_orders(void) {
    enum { FEW = 60, ROOM = 8 };
    static int64_t best[ROOM + 1][FEW + 1];
    int wrong = 0;
    for (int s = 1; s <= ROOM; s++)
        for (int t = 1; t <= FEW; t++) {
            best[s][t] = t == 1 ? 0 : INT64_MAX;
            for (int k = 1; k < t; k++) {
                if (s == 1 && k != t - 1) continue;
                int64_t n = k + (s > 1 ? best[s - 1][t - k] : 0) + best[s][k];
                if (n < best[s][t]) best[s][t] = n;
            }
            wrong += best[s][t] != fewest(t, s);
        }
    CHECK(wrong == 0, "%d", wrong);
}

int main(void) {
    test_closed_form();
    test_all_orders();
    return TEST_END("scan_revolve");
}
