/* The ops of complex.def, and derivatives of functions that are not holomorphic. For a
 * real cost the gradient of a complex variable z is dC/dRe z + i dC/dIm z; a tangent is
 * an ordinary complex number. Both derivatives are formulas in which g is the cotangent
 * or the tangent. */
#include "op/infer.h"
#include "ops/elemwise/deriv.h"
#include "ops/elemwise/table.h"

static bool var_is_complex(const Graph *g, Var x) {
    return dtype_is_complex(var_type(g, x)->dtype);
}

static bool push_text(Push *p, size_t i, const char *text) {
    bool ok = true;
    if (p->tangent[i] == VAR_NONE) return true;
    p->result[0] = template_build_apply(p->b, text, p->g, p->id, p->tangent[i], &ok);
    return ok;
}

/* A function of one argument, with formulas for complex and for real ones. */
#define DERIVATIVE(fn, pull_complex, pull_real, push_complex, push_real)               \
    static bool fn##_pull(Pull *p) {                                                   \
        return pull_text(p, 0,                                                         \
                         var_is_complex(p->g, p->in[0]) ? pull_complex : pull_real);   \
    }                                                                                  \
    static bool fn##_push(Push *p) {                                                   \
        return push_text(p, 0,                                                         \
                         var_is_complex(p->g, p->in[0]) ? push_complex : push_real);   \
    }
DERIVATIVE(abs, "where(x == 0, 0, g * x / r)", "g * sign(x)",
           "where(r == 0, 0, real(conj(x) * g) / r)", "g * sign(x)")
DERIVATIVE(real, "complex(g, zeros_like(g))", "g", "real(g)", "g")
DERIVATIVE(imag, "complex(zeros_like(g), g)", "zeros_like(g)", "imag(g)",
           "zeros_like(g)")
DERIVATIVE(conj, "conj(g)", "g", "conj(g)", "g")
DERIVATIVE(angle, "g * 1j / conj(x)", NULL, "imag(g / x)", "zeros_like(g)")

static bool complex_type(Infer *in) {
    if (!type_elemwise(in)) return false;
    DType d = in->type[0]->dtype == DT_FLOAT64 ? DT_COMPLEX128 : DT_COMPLEX64;
    in->out[0] = type_with_dtype(in->s, in->out[0], d);
    return true;
}
static bool complex_pull(Pull *p) {
    return pull_text(p, 0, "real(g)") && pull_text(p, 1, "imag(g)");
}
static bool complex_push(Push *p) {
    Var re = push_tangent(p, 0), im = push_tangent(p, 1);
    if (re == VAR_NONE || im == VAR_NONE) return false;
    p->result[0] = op_call2(p->b, "complex", re, im);
    return p->result[0] != VAR_NONE;
}

#define ROW(k, out, name, domain, ...) TABLE_LOOPS(domain, name)
#include "ops/elemwise/complex.def"
#undef ROW

#define ROW(k, out, name, domain, kernels, ...) TABLE_OP(k, out, name, __VA_ARGS__)
static const Op table[] = {
#include "ops/elemwise/complex.def"
};
const OpList ops_elemwise_complex = LIST_OF(table);
