#!/usr/bin/env bats
# Arguments of the language's own functions: each of them, by itself, refused where it stands.
load common

# A line of `each`: a call that is right, with every argument between two #.
calls() {
    cat <<'END'
grad(#sum(x * x)#, #x#)
grad(#sum(x * x)#, #[x, y]#, consider_constant=#[y]#, disconnected_inputs=#'ignore'#, return_disconnected=#'zero'#, null_gradients=#'return'#)
vjp(#[x * y, x]#, #[x, y]#, #[x, y]#, consider_constant=#[]#, disconnected_inputs=#'warn'#)
vjp(#x * 2#, #x#, #[1., 2., 3.]#)
jvp(#[x * y, x]#, #[x, y]#, #[y, x]#)
jvp(#x * 2#, #x#, #[1., 2., 3.]#)
jacobian(#[x * y]#, #[x, y]#, consider_constant=#[]#, mode=#'forward'#)
jacobian(#x * y#, #x#)
hessian(#sum(x * x * y)#, #x#, null_gradients=#'raise'#, mixed=#False#)
hessian(#sum(x * x * y)#, #[x, y]#, mixed=#True#)
hvp(#sum(x ** 3)#, #x#, #y#, consider_constant=#[y]#)
hvp(#sum(x ** 3)#, #[x, y]#, #[y, x]#, disconnected_inputs=#'ignore'#)
vectorize(#x * y#, #x#, #m#)
vectorize(#[x * y, y]#, #[x, y]#, #[m, y]#)
vectorize(#(lambda v, w: v * w)#, in_axes=#[0, None]#)(#m#, #y#)
scan(#lambda a, b, c: a * c + b#, #[x]#, #[0.]#, #[k]#, n_steps=#2#, truncate_gradient=#1#, go_backwards=#True#, keep=#'last'#)
scan(#lambda a, b: a + b#, sequences=#[taps(x, [0])]#, outputs_info=#[y[0]]#, keep=#['all']#, checkpoint=#'sqrt'#)
scan(#lambda a, b: a + b#, sequences=#x#, outputs_info=#taps(x, [-3])#, rows=#False#)
scan(lambda a: [a, until(#a > 2#)], [taps(#x#, #[0]#)])
map(#lambda a, b: a + b#, #x#, #[k]#, #True#)
foldl(#lambda a, b: a + b#, #x#, #0.#, #[]#, #True#)
foldr(#lambda a, b: a + b#, #x#, #0.#, #[]#)
reduce(#lambda a, b: a + b#, #x#, #0.#, #[]#, #False#)
filter(#lambda a, b: a > b#, #x#, #[k]#)
multinomial(#3#, #[0.5, 0.5]#, size=#(2,)#, seed=#1#)
multivariate_hypergeometric(#[3, 4]#, #2#, size=#(2,)#, seed=#1#)
permutation(#x#, seed=#1#)
shuffle(#x#, rng=#r#)
choice(#x#, #(2,)#, True, #[0.25, 0.25, 0.5]#, seed=#1#)
choice(#x#, #2#, replace=False, rng=#r#)
rng(#3#)
normal(#x#, #2.#, size=#(3,)#, rng=#r#)
normal(#0.#, #y#, seed=#1#, dtype=#float32#)
integers(#0#, #k#, #(2,)#, seed=#3#, dtype=#int32#)
bernoulli(#0.5#, size=#k#, seed=#3#)
gamma(#x#, #1#, #(3,)#, rng=#rng(4)#)
triangular(#0#, #1.#, #x#, seed=#1#)
dirichlet(#x#, #(4,)#, seed=#1#)
multivariate_normal(#x#, #eye(3)#, #(2,)#, seed=#2#)
categorical(#x#, #(2,)#, seed=#2#)
hypergeometric(#5#, #4#, #k#, seed=#2#)
sow(#x#, tag='t', name='n', mode=#'append'#, key=#None#)
sow_cond(#x#, #k > 1#, tag='t', name='n', mode=#'cond_clobber'#)
END
}

# Each argument of each call in turn is PUT: lines `COLUMN EXPRESSION`.
spoilt() { # PUT
    calls | awk -F'#' -v put="$1" '{
        for (i = 2; i <= NF; i += 2) {
            at = left = ""
            for (k = 1; k < i; k++) left = left $k
            at = length(left) + 1
            rest = left put
            for (k = i + 1; k <= NF; k++) rest = rest $k
            print at, rest
        }
    }'
}

load_() {
    gload --new -i 'x: float64[3]' -i 'y: float64[3]' -i 'm: float64[2, 3]' -i 'k: int64' -i 'r: random' "$@"
}

# An expression fails with one error, at the place and with the text of the regex; nothing is written.
refused() { # expression, regex
    ! load_ -e "$1" -o o.tlg 2>err || fail "should fail: $1"
    [ "$(grep -c 'error\[' err)" = 1 ] || fail "should say one error: $1: $(cat err)"
    grep -qE -- "^gload: --expr:1:$2" err || fail "should say $2: $1: $(cat err)"
    [ ! -e o.tlg ]
}

@test "the calls are right as they stand" {
    calls | tr -d '#' >all
    while IFS= read -r e; do
        load_ -e "$e" -o o.tlg || fail "$e"
    done <all
}

@test "a bad argument is reported once, at its place, whichever it is" {
    local at e
    spoilt 'nope(1)' >all
    [ "$(wc -l <all)" -gt 150 ]
    while read -r at e; do
        refused "$e" "$at: error\[E_NAME\]: there is no function \`nope\`"
    done <all
}

@test "a text in the place of another argument is refused, once" {
    local at e
    spoilt "'zz'" >all
    while read -r at e; do
        refused "$e" "[0-9]+: error\[E_(TYPE|ARG|DTYPE|ARITY)\]: "
    done <all
}
