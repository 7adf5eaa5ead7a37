# An error inside an expression: said once, in its own place, wherever the expression stands.
load common

# Rows with HOLE for the expression that is wrong: here a function that does not exist.
@test "an error in an expression is reported at its place, wherever the expression is" {
    local row before
    while IFS= read -r row; do
        before=${row%%HOLE*}
        shell "gload -i 'x: float64[3]' -i 'm: float64[2, 3]' -i 'k: int64' -i 'flag: bool' -e \"${row/HOLE/oops()}\" -o o.tlg"
        [ "$status" = 3 ] || complain 'should end with status 3' "$row"
        [ "$(grep -c 'error\[' .err)" = 1 ] || complain 'should say one error' "$row"
        grep -q "^gload: --expr:1:$((${#before} + 1)): error\[E_NAME\]: there is no function .oops" .err ||
            complain 'should be the error of oops(), in its place' "$row"
        [ ! -e o.tlg ]
    done <<'END'
array(HOLE)
array([HOLE, 1])
array([1], dtype=HOLE)
array([1], shape=HOLE)
array([1], HOLE)
float32(HOLE)
floatX(HOLE)
complex(HOLE, 1)
complex(1, HOLE)
complex64(1, HOLE)
astype(HOLE, float32)
astype(x, dtype=HOLE)
x.astype(HOLE)
rng_state(HOLE)
constant('float64', HOLE)
[HOLE]
[x, [x, HOLE]]
{'a': HOLE}
{'a': x, 'b': [HOLE]}
-HOLE
HOLE + x
x + HOLE
HOLE @ x
x ** HOLE
1 < HOLE
x[HOLE]
x[HOLE:]
x[:HOLE]
x[::HOLE]
x[HOLE::2]
x[-1:HOLE:-1]
x[1:HOLE]
m[HOLE, 0]
m[0, HOLE]
m[:, HOLE]
m[..., HOLE]
m[None, HOLE]
m[[0, HOLE]]
m[(0, 1), HOLE]
m[HOLE:HOLE]
m.shape[HOLE]
m.shape[HOLE:]
(HOLE).shape
(HOLE).shape[0]
(HOLE).T
(HOLE).ndim
(HOLE)[0]
(HOLE)(x)
(HOLE).sum()
sum(HOLE)
sum(x, axis=HOLE)
sum(x, HOLE)
x.sum(axis=HOLE)
x.reshape(3, HOLE)
x.reshape((3, HOLE))
m.transpose(1, HOLE)
reshape(x, HOLE)
reshape(x, (3, HOLE))
reshape(x, [HOLE])
concatenate([x, HOLE])
concatenate([HOLE], axis=0)
concatenate([x], axis=HOLE)
stack([x, HOLE])
stack(x, HOLE)
where(HOLE, x, x)
where(flag, HOLE, x)
where(flag, x, HOLE)
zeros(HOLE)
zeros((2, HOLE))
zeros(3, dtype=HOLE)
full((2,), HOLE)
full(HOLE, 1)
arange(HOLE)
arange(0, HOLE)
arange(0, 3, HOLE)
linspace(0, 1, HOLE)
eye(HOLE)
one_hot(k, HOLE)
einsum('i,i->', x, HOLE)
einsum(HOLE, x, x)
pad(x, HOLE)
pad(x, 1, HOLE)
clip(x, HOLE, 1)
clip(x, 0, HOLE)
cast(HOLE, float32)
cast(x, HOLE)
normal(0, HOLE, (3,), seed=1)
normal(0, 1, HOLE, seed=1)
normal(0, 1, (3,), seed=HOLE)
normal(HOLE, 1, (3,), rng=rng_state([1, 0, 0, 0]))
normal(0, 1, (3,), rng=HOLE)
uniform(0, 1, (HOLE,), seed=1)
choice(HOLE, (2,), seed=1)
permutation(HOLE, seed=1)
(lambda a: HOLE)(x)
(lambda a: a)(HOLE)
(lambda a, b: a + b)(x, b=HOLE)
(lambda a: (lambda b: HOLE)(a))(x)
map(lambda a: HOLE, x)
map(HOLE, x)
map(lambda a: a, HOLE)
map(lambda a: a + HOLE, x)
scan(lambda a, c: c + HOLE, x, 0.0)
scan(lambda a, c: c + a, HOLE, 0.0)
scan(lambda a, c: c + a, x, HOLE)
scan(HOLE, x, 0.0)
scan(lambda a, c: [c + a, until(HOLE)], x, 0.0)
reduce(lambda a, b: a + HOLE, x, 0.0)
reduce(lambda a, b: a + b, x, HOLE)
reduce(lambda a, b: a + b, HOLE, 0.0)
ifelse(HOLE, x, x)
ifelse(flag, HOLE, x)
ifelse(flag, x, HOLE)
grad(HOLE, x)
grad(sum(x), HOLE)
jacobian(HOLE, x)
hessian(HOLE, x)
sow(HOLE, tag='t', name='n')
sow(x, tag=HOLE, name='n')
sow(x, tag='t', name=HOLE)
sow(x, tag='t', name='n', mode=HOLE)
sow(x, tag='t', name='n', key=HOLE)
sow_cond(HOLE, flag, tag='t', name='n')
sow_cond(x, HOLE, tag='t', name='n')
nest(lambda a: HOLE, scope='s')(x)
nest(lambda a: a, scope=HOLE)(x)
nest(HOLE, scope='s')(x)
nest(lambda a: a, scope='s')(HOLE)
harvest(lambda a: HOLE, tag='t')({}, x)
harvest(lambda a: a, tag='t')({}, HOLE)
harvest(lambda a: a, tag='t')({'n': HOLE}, x)
harvest(lambda a: a, tag='t')(HOLE, x)
harvest(lambda a: a, tag=HOLE)({}, x)
harvest(HOLE, tag='t')({}, x)
reap(lambda a: HOLE, tag='t')(x)
reap(lambda a: a, tag='t')(HOLE)
reap(lambda a: a, tag=HOLE)(x)
call_and_reap(lambda a: HOLE, tag='t')(x)
call_and_reap(lambda a: a, tag='t')(HOLE)
plant(lambda a: HOLE, tag='t')({}, x)
plant(lambda a: a, tag='t')({'n': HOLE}, x)
plant(lambda a: a, tag='t')({'n': {'q': HOLE}}, x)
plant(lambda a: a, tag='t')({}, HOLE)
print(HOLE, 'x')
make_list(HOLE)
make_list(x, HOLE)
split(x, HOLE)
split(x, [1, HOLE])
split(HOLE, [1, 2])
set_subtensor(x[HOLE], 1)
set_subtensor(x[0], HOLE)
inc_subtensor(x[1:HOLE], 1)
inc_subtensor((HOLE)[1], 1)
csr(HOLE)
tensordot(x, x, HOLE)
tensordot(m, x, ([1], [HOLE]))
a, b = HOLE
y: float64[3] = HOLE
scan(lambda c: c, outputs_info=HOLE, n_steps=3)
scan(lambda c: c, outputs_info=1.0, n_steps=HOLE)
scan(lambda a, c: c + a, x, 0.0, go_backwards=HOLE)
scan(lambda a, c: c + a, x, 0.0, keep=HOLE)
scan(lambda a, c, w: c + a * w, x, 0.0, non_sequences=HOLE)
scan(lambda a, c, w: c + a * w, x, 0.0, [HOLE])
scan(lambda a, c: c + a, taps(x, [HOLE]), 0.0)
scan(lambda a, c: c + a, taps(HOLE, [0]), 0.0)
foldl(lambda a, b: a + HOLE, x, 0.0)
foldr(lambda a, b: a + b, HOLE, 0.0)
filter(lambda a: HOLE, x)
filter(lambda a: a > 0, HOLE)
grad(sum(x), [x, HOLE])
vjp(HOLE, x, x)
vjp(x, HOLE, x)
vjp(x * x, x, HOLE)
jvp(HOLE, x, x)
jvp(x * x, HOLE, x)
jvp(x * x, x, HOLE)
hvp(HOLE, x, x)
hvp(sum(x * x), x, HOLE)
hessian(sum(x * x), HOLE)
jacobian(x * x, HOLE)
assert_op(x, HOLE)
require(x, HOLE)
list_append([x], HOLE)
list_append(HOLE, x)
list_insert([x], HOLE, x)
list_insert([x], 0, HOLE)
list_get([x], HOLE)
list_get(HOLE, 0)
list_index([x], HOLE)
list_concatenate([x], HOLE)
list_stack(HOLE)
shuffle(HOLE, rng=rng_state([1, 0, 0, 0]))
multinomial(3, [0.5, HOLE], rng=rng_state([1, 0, 0, 0]))
choice(4, (2,), p=HOLE, rng=rng_state([1, 0, 0, 0]))
rng(HOLE)
make_slice(HOLE, 1, 1)
make_slice(0, HOLE, 1)
svd(HOLE)
svd(m, full_matrices=HOLE)
specify_shape(x, HOLE)
specify_shape(x, (HOLE,))
broadcast_to(x, (2, HOLE))
tile(x, HOLE)
roll(x, HOLE)
take(x, HOLE)
take(x, [0, HOLE])
block_diag(m, HOLE)
block_diag([m, HOLE])
einsum('i,j->', [x, HOLE])
csr_from_dense(HOLE)
csr([1.0], [0], HOLE, (2, 2))
((lambda a: a)(HOLE), 1)[0]
[x, m][HOLE:]
[x, m][:HOLE]
[x, m][::HOLE]
[x] + [HOLE]
[HOLE] + [x]
{'a': HOLE}['a']
{'a': x}[HOLE]
(x, HOLE)
[a, HOLE]
sow({'a': x, 'b': HOLE}, tag='t', name='n')
vectorize(lambda a: HOLE)(m)
vectorize(HOLE)(m)
recurrence(HOLE, x)
END
}
