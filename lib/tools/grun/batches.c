/* Repeated calls: steps, rows or batches of data, epochs in shuffled order. */
#include "op/ranks.h"
#include "tools/grun/grun_impl.h"
#include "value/rng.h"

#include <string.h>

/* Checks that all iterated values have the same number of rows. */
static bool count_rows(GraphRun *r) {
    const char *first = NULL;
    r->rows = -1;
    for (size_t i = 0; i < r->g->inputs.n; i++) {
        if (!r->feed[i].each) continue;
        const char *name = sym_text(r->s, var_name(r->g, r->g->inputs.p[i]));
        if (!r->feed[i].given)
            return fail(r->s, r->spec->series.each_at, E_MISSING,
                        "--each takes rows of %s, but it has no value", name);
        const Type *type = var_type(r->g, r->g->inputs.p[i]);
        const Tensor *t = &r->feed[i].value.t;
        if (type->kind != TYPE_TENSOR || !t->ndim)
            return fail(r->s, r->spec->series.each_at,
                        type->kind == TYPE_TENSOR ? E_SHAPE : E_TYPE,
                        "--each takes rows of tensors, but %s is %s", name,
                        type->kind == TYPE_TENSOR ? "0-d" : type_str(r->s, type));
        int64_t n = t->shape[0];
        if (first && n != r->rows)
            return fail(r->s, r->spec->series.each_at, E_SHAPE,
                        "%s has %lld rows, but %s has %lld", first, (long long)r->rows,
                        name, (long long)n);
        r->rows = n;
        first = name;
    }
    return true;
}

static bool count_calls(GraphRun *r) {
    const Series *q = &r->spec->series;
    if (!count_rows(r)) return false;
    if (r->lines) return r->calls = INT64_MAX, true;
    if (r->rows < 0) {
        if (q->batch || q->epochs || q->drop_last || q->shuffle >= 0)
            return fail(r->s, NOWHERE, E_USAGE,
                        "--batch, --epochs, --drop-last and --shuffle need --each");
        r->calls = q->steps ? q->steps : 1;
        return true;
    }
    int64_t size = q->batch ? q->batch : 1;
    r->per_epoch =
        q->drop_last ? r->rows / size : r->rows / size + (r->rows % size != 0);
    if (!r->per_epoch)
        return fail(r->s, q->each_at, E_SHAPE, "%s can't fill a batch of %lld",
                    str_counted(r->s, (size_t)r->rows, "row"), (long long)size);
    int64_t epochs = q->epochs ? q->epochs : q->steps ? INT64_MAX / r->per_epoch : 1;
    if (!i64_mul(r->per_epoch, epochs, &r->calls)) r->calls = INT64_MAX;
    if (q->steps && q->steps < r->calls) r->calls = q->steps;
    return true;
}

/* The order of an epoch: permutation number `epoch` of the seed's stream. */
static void shuffle_epoch(GraphRun *r, int64_t epoch) {
    if (r->spec->series.shuffle < 0) return;
    if (!r->order) r->order = mem_alloc(r->s, sizeof *r->order * (size_t)r->rows);
    Rng state = rng_seed((uint64_t)r->spec->series.shuffle);
    state.position = (uint64_t)epoch;
    rng_permutation(&state, r->rows, r->order);
}

/* Rows [from, from + n) in the epoch's order: a view if they are adjacent, else
 * gathered into reused storage. */
static bool feed_input_rows(GraphRun *r, size_t i, int64_t from, int64_t n) {
    const Tensor *all = &r->feed[i].value.t;
    Tensor *row = &r->row[i], part = *all;
    part.shape[0] = n;
    part.data = (char *)all->data + from * all->stride[0];
    if (r->spec->series.batch) grun_ranks_rows(r, i, &part);
    if (all->stride[0]) from = ((char *)part.data - (char *)all->data) / all->stride[0];
    n = part.shape[0];
    if (!r->order) {
        tensor_unref(row);
        tensor_copy_view(row, &part);
    } else {
        if ((!row->data || row->shape[0] != n) &&
            (tensor_unref(row),
             !tensor_new(r->s, all->dtype, all->ndim, part.shape, row)))
            return false;
        for (int64_t k = 0; k < n; k++) {
            Tensor src = *all, dst = *row;
            src.shape[0] = dst.shape[0] = 1;
            src.data = (char *)all->data + r->order[from + k] * all->stride[0];
            dst.data = (char *)row->data + k * row->stride[0];
            tensor_assign(&dst, &src);
        }
    }
    Value v = {.kind = TYPE_TENSOR, .t = *row};
    if (!r->spec->series.batch) { /* single rows drop the axis */
        v.t.ndim--;
        memmove(v.t.shape, v.t.shape + 1, (size_t)v.t.ndim * sizeof *v.t.shape);
        memmove(v.t.stride, v.t.stride + 1, (size_t)v.t.ndim * sizeof *v.t.stride);
    }
    return vm_set_input(r->m, i, &v);
}

static bool feed_rows(GraphRun *r, int64_t call) {
    if (r->rows < 0) return true;
    int64_t size = r->spec->series.batch ? r->spec->series.batch : 1,
            k = call % r->per_epoch;
    int64_t from = k * size, n = from + size > r->rows ? r->rows - from : size;
    if (k == 0) shuffle_epoch(r, call / r->per_epoch);
    for (size_t i = 0; i < r->g->inputs.n; i++)
        if (r->feed[i].each && !feed_input_rows(r, i, from, n)) return false;
    return true;
}

/* *end: the lines have come to theirs, or a signal was quicker than the next one. */
static bool feed_call(GraphRun *r, int64_t call, bool *end) {
    *end = false;
    if (!r->lines) return feed_rows(r, call);
    if (!grun_next_line(r, end)) return false;
    r->stopped = *end && grun_stopped(r);
    if (*end && !r->stopped) r->calls = r->now.calls = call;
    return true;
}

/* Notes which of several calls failed. */
static void note_failed_call(GraphRun *r, int64_t call) {
    if (r->calls == 1) return;
    if (r->lines)
        grun_note_line(r);
    else if (r->rows < 0)
        note(r->s, NOWHERE, "in step %lld of %lld", (long long)call + 1,
             (long long)r->calls);
    else
        note(r->s, NOWHERE, "in call %lld of %lld, %lld of epoch %lld",
             (long long)call + 1, (long long)r->calls,
             (long long)(call % r->per_epoch) + 1,
             (long long)(call / r->per_epoch) + 1);
}

/* Reports what a stopped run can't pass on any more, to a pipe that was closed by the
 * same signal, are no error. */
static bool report_call(GraphRun *r, int64_t call) {
    if (r->spec->quiet) return true;
    size_t mark = diag_count(r->s);
    grun_screen(r, true);
    bool ok = grun_report_results(r, call);
    grun_screen(r, false);
    if (ok || !grun_stopped(r)) return ok;
    diag_rewind(r->s, mark);
    writer_abort(r->out);
    r->out = NULL;
    return true;
}

/* A call that failed since it was to be left: the run ends in order. */
static bool was_left(GraphRun *r, size_t mark) {
    if (ranks_count(r->s) > 1) return false; /* the others wait for it */
    if (!grun_stopped(r) || !atomic_load(session_expired(r->s))) return false;
    diag_rewind(r->s, mark);
    return r->now.left = true;
}

static bool is_until_reached(GraphRun *r) {
    if (!r->spec->until) return false;
    return *(const bool *)vm_output(r->m, r->spec->until_output)->t.data;
}

static bool run_calls(GraphRun *r) {
    const Series *q = &r->spec->series;
    for (int64_t call = 0; call < r->calls; call++) {
        size_t mark = diag_count(r->s);
        bool end;
        if (!feed_call(r, call, &end)) return false;
        if (end) return true;
        double start = r->lines ? clock_seconds() : 0;
        if (!grun_call(r)) {
            if (was_left(r, mark)) return true;
            return note_failed_call(r, call), grun_hint(r);
        }
        r->now.done = call + 1;
        if (r->lines) grun_line_called(r, clock_seconds() - start);
        r->now.until = is_until_reached(r);
        grun_state_value(r);
        bool last = call + 1 == r->calls || r->now.until;
        bool shown = last || (q->every && (call + 1) % q->every == 0) ||
                     (r->lines && grun_line_done(r));
        if ((r->collect || (q->every && shown)) && !grun_collect_results(r))
            return false;
        if (shown || !q->every) grun_plot_call(r, call);
        if (shown && !report_call(r, call)) return false;
        r->stopped = grun_stopped(r) && !last;
        if (!grun_ranks_agree(r, &r->stopped)) return false;
        if (last) return true;
        if (q->save_every && (call + 1) % q->save_every == 0 && !grun_save(r))
            return false;
        grun_state_call(r);
        if (r->stopped) return true;
    }
    return true;
}

bool grun_series(GraphRun *r) {
    if (!count_calls(r)) return false;
    r->collect = r->rows >= 0 && r->g->updates.n == 0 && !r->spec->series.every;
    r->now.calls = r->calls;
    grun_state_begin(r);
    bool ok = grun_ranks_begin(r) && run_calls(r);
    if (r->spec->watch) r->spec->watch->end(r->spec->watch->ctx);
    if (grun_stopped(r)) session_continue(r->s);
    return ok;
}
