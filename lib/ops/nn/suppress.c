/* non_max_suppression: of boxes that overlap, the one with the highest score stays. How
 * many stay depends on the values. */
#include "op/infer.h"
#include "ops/shape/linear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- typing ---- */

static bool suppress_type(Infer *in) {
    Dim dim[2] = {DIM_UNKNOWN, 3};
    if (!infer_want_rank(in, 0, 3, 3) || !infer_want_rank(in, 1, 3, 3) ||
        !infer_want_kinds(in, 0, KIND_REAL) || !infer_want_kinds(in, 1, KIND_REAL) ||
        !infer_want_dims_equal(in, 0, 0, 1, 0, NULL) ||
        !infer_want_dims_equal(in, 0, 1, 1, 2, NULL))
        return false;
    for (size_t i = 3; i < in->nin; i++)
        if (!infer_want_rank(in, i, 0, 0) || !infer_want_kinds(in, i, KIND_REAL))
            return false;
    if (!dim_may_equal(infer_in_dim(in, 0, 2), 4))
        return infer_fail(in, E_SHAPE, 0, "a box has 4 numbers, not %lld",
                          (long long)infer_in_dim(in, 0, 2));
    return infer_out_tensor(in, 0, DT_INT64, 2, dim);
}

/* ---- running ---- */

typedef struct Box {
    double y1, x1, y2, x2, area;
} Box;
typedef struct Candidate {
    double score;
    int64_t box;
} Candidate;
typedef struct Suppression {
    int64_t boxes, classes, most;
    double overlap, score; /* the thresholds */
    bool centers;
    Box *box;        /* of one row */
    Candidate *rank; /* of one class, the best first */
    int64_t *kept;   /* of one class */
    Vec(int64_t) out;
} Suppression;

static Box read_box(const Tensor *t, int64_t i, bool centers) {
    double v[4];
    for (int k = 0; k < 4; k++)
        v[k] = tensor_f64(t, 4 * i + k);
    Box b = centers ? (Box){v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2,
                            v[0] + v[2] / 2, 0}
                    : (Box){fmin(v[0], v[2]), fmin(v[1], v[3]), fmax(v[0], v[2]),
                            fmax(v[1], v[3]), 0};
    b.area = (b.y2 - b.y1) * (b.x2 - b.x1);
    return b;
}

/* The area that both have, as a part of what either has. */
static double boxes_overlap(const Box *a, const Box *b) {
    double high = fmin(a->y2, b->y2) - fmax(a->y1, b->y1);
    double wide = fmin(a->x2, b->x2) - fmax(a->x1, b->x1);
    if (!(high > 0 && wide > 0)) return 0;
    return high * wide / (a->area + b->area - high * wide);
}

static int by_score(const void *p, const void *q) {
    const Candidate *a = p, *b = q;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    return (a->box > b->box) - (a->box < b->box);
}

static bool is_suppressed(const Suppression *s, int64_t box, int64_t kept) {
    for (int64_t k = 0; k < kept; k++)
        if (boxes_overlap(&s->box[s->kept[k]], &s->box[box]) > s->overlap) return true;
    return false;
}

/* Chooses among the boxes of a row for a class whose scores begin at `at`. */
static void choose_boxes(Session *session, Suppression *s, const Tensor *scores,
                         int64_t row, int64_t class) {
    int64_t n = 0, kept = 0, at = (row * s->classes + class) * s->boxes;
    for (int64_t i = 0; i < s->boxes; i++) {
        double v = tensor_f64(scores, at + i);
        if (v > s->score) s->rank[n++] = (Candidate){v, i};
    }
    qsort(s->rank, (size_t)n, sizeof *s->rank, by_score);
    for (int64_t i = 0; i < n && kept < s->most; i++) {
        int64_t box = s->rank[i].box;
        if (is_suppressed(s, box, kept)) continue;
        s->kept[kept++] = box;
        vec_push(session, &s->out, row);
        vec_push(session, &s->out, class);
        vec_push(session, &s->out, box);
    }
}

static bool suppress_perform(Call *c) {
    const Tensor *boxes = call_in(c, 0), *scores = call_in(c, 1);
    if (boxes->shape[0] != scores->shape[0] || boxes->shape[1] != scores->shape[2] ||
        boxes->shape[2] != 4)
        return call_fail(
            c, E_RUN_SHAPE,
            "boxes must be [rows, boxes, 4] and scores [rows, classes, boxes]");
    Suppression s = {.boxes = boxes->shape[1],
                     .classes = scores->shape[1],
                     .most = tensor_index(call_in(c, 2), 0),
                     .overlap = c->nin > 3 ? tensor_f64(call_in(c, 3), 0) : 0,
                     .score = c->nin > 4 ? tensor_f64(call_in(c, 4), 0) : -HUGE_VAL,
                     .centers = prop_bool(c->s, c->op, c->props, "centers")};
    size_t n = (size_t)s.boxes, bytes = 0;
    size_append(&bytes, n, sizeof *s.box + sizeof *s.rank + sizeof *s.kept);
    char *room = call_scratch(c, bytes);
    if (!room) return false;
    s.box = (Box *)(void *)room;
    s.rank = (Candidate *)(void *)(s.box + n);
    s.kept = (int64_t *)(void *)(s.rank + n);
    for (int64_t row = 0; row < boxes->shape[0] && s.most > 0; row++) {
        for (int64_t i = 0; i < s.boxes; i++)
            s.box[i] = read_box(boxes, row * s.boxes + i, s.centers);
        for (int64_t k = 0; k < s.classes; k++)
            choose_boxes(c->s, &s, scores, row, k);
    }
    Tensor *out = call_out(c, 0, 2, (int64_t[]){(int64_t)s.out.n / 3, 3});
    if (out && s.out.n) memcpy(out->data, s.out.p, s.out.n * sizeof *s.out.p);
    vec_free(&s.out);
    return out != NULL;
}

static const Op table[] = {
    {.name = OP_ROW("non_max_suppression"),
     .doc =
         "For each row and class, the boxes that stay, the one with the highest score "
         "first: a box goes if it overlaps with a better one that stays by more than "
         "iou_threshold (0), as a part of the area of both, or if its score isn't "
         "above "
         "score_threshold; max_boxes of a class stay at most. boxes is [rows, boxes, "
         "4], "
         "each two opposite corners y, x, y, x or, with centers, x, y, width, height; "
         "scores is [rows, classes, boxes]. A result is a row (row, class, box).",
     .in = "boxes, scores, max_boxes: int, iou_threshold?, score_threshold?",
     .props = "centers: bool = False",
     .type = suppress_type,
     .perform = suppress_perform,
     .flops = "0",
     .pull = pull_discrete,
     .push = push_none,
     .disconnected = "max_boxes",
     .example =
         "non_max_suppression([[[0., 0., 1., 1.], [0., 0.1, 1., 1.1], [0., 2., 1., "
         "3.]]], [[[0.5, 0.9, 0.3]]], 5, 0.5) -> [[0, 0, 1], [0, 0, 2]]"},
};
const OpList ops_nn_suppress = LIST_OF(table);
