# What people write who know another system: each is one error that says how it is written here.
load common

# A table: an expression | the column | what the message says.
said() {
    local expr place want
    while IFS='|' read -r expr place want; do
        bad 3 E_ "$want" "gload -i 'm: float64[2, 3]' -i 'k: int64' -e '$expr' -o o.tlg"
        grep -q "^gload: --expr:1:$place: error" .err || complain "should be at $place" "$expr"
    done
}

# The same, of more inputs.
said_all() {
    local expr place want
    while IFS='|' read -r expr place want; do
        bad 3 E_ "$want" "gload -i 'm: float64[2, 3]' -i 't: float64[2, 3, 4]' -i 'rows: float64[n, w]' -i 'k: float64' -i '$1' -e '$expr' -o o.tlg"
        grep -q "^gload: --expr:1:$place: error" .err || complain "should be at $place" "$expr"
    done
}

@test "a module's name in front of a function or a constant: drop it" {
    said <<'END'
np.sin(m)|1|drop the prefix `np\.`: write sin\(\.\.\.\)
1 + jnp.sum(m)|5|drop the prefix `jnp\.`
torch.relu(m).sum()|1|drop the prefix `torch\.`: write relu
np.pi|1|drop the prefix `np\.`: write pi
2 * np.pi * m|5|drop the prefix `np\.`: write pi
np.nan|1|write nan
np.newaxis|1|write None
np.float32|1|write float32
np.linalg.inv(m)|1|drop the prefix `np\.linalg\.`: write inv
jax.nn.softmax(m, 1)|1|drop the prefix `jax\.nn\.`: write softmax
torch.cat([m, m])|1|drop the prefix `torch\.`: write concatenate
T.dot(m, m.T)|1|drop the prefix `T\.`: write dot
T.sum(m)|1|drop the prefix `T\.`: write sum
F.relu(m)|1|drop the prefix `F\.`: write relu
linalg.norm(m)|1|drop the prefix `linalg\.`: write norm
fft.rfft(m)|1|drop the prefix `fft\.`: write rfft
special.gammaln(m)|1|drop the prefix `special\.`: write gammaln
stats.norm.cdf(m)|1|there is no `norm\.cdf`: write ndtr\(
norm.cdf(m)|1|there is no `norm\.cdf`: write ndtr\(
1 + np.maximum.accumulate(m)[0]|5|there is no `maximum\.accumulate`: write cummax\(
map(lambda r: add.outer(r, r), m)|15|there is no `add\.outer`: write x\[:, None\] \+ y
random.normal(0, 1, 3)|1|drop the prefix `random\.`: write normal
stats.zscore(m)|1|drop the prefix `stats\.`: write \(x - mean
m.at[0].set(1)|1|write set_subtensor\(x\[i\], v\)
K.dot(m, m.T)|1|drop the prefix `K\.`: write dot
K.solve(m, m, m)|1|drop the prefix `K\.`: write solve
F.softmax(m, 1, m)|1|drop the prefix `F\.`: write softmax
tf.float32|1|drop the prefix `tf\.`: write float32
jnp.where(m > 0, m, 0).T[0]|1|drop the prefix `jnp\.`: write where
lax.scan|1|there is no `lax\.scan`: write scan\(lambda row, c
F.nothing(m)|1|there is no function `nothing`
map(lambda r: np.sum(r), m)|15|drop the prefix `np\.`
END
    printf 'thunkline: 1\nlet: |\n  y = np.ones(3)\noutputs: [y]\n' >f.yaml
    bad 3 E_NAME 'f.yaml:3:7: .*drop the prefix `np\.`' 'gload f.yaml'
}

@test "a variable may have a module's name, and methods are no prefixes" {
    ok "gload -i 'np: float64[2]' -e 'y = np.dot(np)' | grun np=[3,4]" 'y = 25.0'
    ok "gload -i 'T: float64[2]' -i 'x: float64[2]' -e 'y = T.dot(x)' | grun T=[3,4] x=[1,1]" 'y = 7.0'
    ok "gload -e 'y = T.sum() + T.clip(0, 1) + T.T' | grun T=2" 'y = 5.0'
    ok "gload -e 'y = T.maximum(x)' | grun T=2 x=3" 'y = 3.0'
    ok "gload -i 'random: float64[2]' -e 'y = random.dot(random)' | grun random=[3,4]" 'y = 25.0'
    bad 3 E_NAME '1:5: .*there is no function `cdf`' "gload -i 'norm: float64' -e 'y = norm.cdf(1)'"
    ok "gload -e 'torch = sqrt(4.)' -e 'y = torch.maximum(1)' | grun" $'torch = 2.0\ny = 2.0'
    ok "gload -e 'y = map(lambda np: np.sum(0), ones((2, 3)))' | grun" 'y = [3.0, 3.0]'
    ok "gload -i 'x: float64[2, 3]' -e 'y = x.T.shape' | grun 'x=[[1, 2, 3], [4, 5, 6]]'" $'y/0 = 3\ny/1 = 2'
}

@test "names of other systems" {
    said <<'END'
cat([m, m])|1|here it is `concatenate`
concat([m, m], 1)|1|here it is `concatenate`
m.permute(1, 0)|1|here it is `transpose`
m.view(3, 2)|1|here it is `reshape`
m.unsqueeze(0)|1|here it is `expand_dims`
gather(m, 0, [[1]])|1|here it is `take_along_axis`
len(m)|1|write x\.shape\[0\]
float(k)|1|here it is `float64`
tensor([1, 2])|1|here it is `array`
m.masked_fill(m > 0, 1)|1|write where\(mask, value, x\)
reduce_sum(m)|1|here it is `sum`
m.real|1|write real\(x\)
conv2d(m, m)|1|here it is `conv`
m^2|1|a power is `a \*\* b`
k ^ 2.5|1|a power is `a \*\* b`
sum(m, dim=0)|8|here it is `axis=`
mean(m, axis=0, keepdim=True)|17|here it is `keepdims=`
normal(0, 1, shape=[3], seed=1)|14|here it is `size=`
zeros(3, 3)|10|zeros\(\(3, 3\)\)
ones(2, 3, 4)|9|ones\(\(2, 3, 4\)\)
reshape(m, 3, 2)|15|reshape\(x, \(3, 2\)\)
tahn(m)|1|did you mean `tanh`
lgo(m)|1|did you mean `log`
END
    ok "gload -e 'k ^ 2' -i 'k: int64' | grun k=3" 'out = 1'
    bad 3 E_DTYPE '1:4: .*write float64 or float32' "gload -i 'x: float[3]' -e x"
    bad 3 E_DTYPE '1:4: .*here it is `float32`' "gload -i 'x: f32[3]' -e x"
    bad 3 E_DTYPE '1:4: .*did you mean `float32`' "gload -i 'x: flaot32[3]' -e x"
    bad 3 E_SYNTAX 'a shape stands in brackets, as in float64\[3\]' "gload -i 'x: float64(3)' -e x"
    bad 3 E_SHAPE 'it is not stretched: write full\(\(3,\), 0\)' "gload --shared 'w: float64[3]= 0' -e 'y = w'"
    bad 3 E_SHAPE 'it is not stretched: write full\(\(2, 3\), 1.5\)' "gload --shared 'w: float64[2, 3] = 1.5' -e 'y = w'"
    bad 2 E_UNKNOWN 'no op cat: here it is `concatenate`' 'gload --op cat'
    printf 'thunkline: 1\nlet: |\n  y = where(true, 1, 2)\noutputs: [y]\n' >f.yaml
    bad 3 E_NAME '3:13: .*`true` is not defined: here it is `True`' 'gload f.yaml'
    printf 'thunkline: 1\nlet: |\n  y = arange(3)[none]\noutputs: [y]\n' >f.yaml
    bad 3 E_NAME '3:17: .*`none` is not defined: here it is `None`' 'gload f.yaml'
}

# A table: their function | its arguments | what the suggested expression gives.
@test "what is suggested for a function computes it" {
    local name args want recipe e given
    while IFS='|' read -r name args want; do
        recipe=$(sed -n "s/^SYNONYM(FUNCTION, \"${name/./\\.}\", \"\(.*\)\")\$/\1/p" "$ROOT"/lib/type/synonym*.def)
        given=()
        while read -r -d ';' e; do given+=(-e "$e"); done <<<"$args;"
        gload --new "${given[@]}" -e "out = $recipe" --outputs out -o r.tlg
        ok "grun r.tlg --expect 'out=$want' -o o"
    done <<'END'
cdist|a = [[0., 0.]]; b = [[3., 4.], [0., 1.]]|[[5, 1]]
cosine_similarity|a = [1., 0.]; b = [1., 1.]|sqrt(0.5)
kl_div|p = [0.5, 0.5]; q = [0.25, 0.75]|0.5 * log(2) + 0.5 * log(2 / 3)
nanptp|x = [1., nan, 4.]|3
perm|n = 5.; k = 2.|20
exp1|x = 1.0|0.21938393439552029
msort|x = [[2, 1], [1, 3]]|[[1, 1], [2, 3]]
normalize|x = [[3., 4.]]|[[0.6, 0.8]]
argtopk|x = [3., 1., 2.]; k = 2|[0, 2]
shape_padleft|x = array([1., 2.])|[[1, 2]]
shape_padright|x = array([1., 2.])|[[1], [2]]
alloc|x = 5.; shape = (2, 1)|[[5], [5]]
nonzero_values|x = array([0., 4., 0., 2.])|[4, 2]
ceil_intdiv|a = 7; b = 2|4
truncdiv|a = -7.; b = 2.|-3
gammau|k = 2.; x = 1.|2 * exp(-1)
gammal|k = 2.; x = 1.|1 - 2 * exp(-1)
categorical_crossentropy|t = array([[0., 1.]]); p = array([[0.75, 0.25]])|[log(4)]
identity_like|x = array([[1., 2.], [3., 4.]])|[[1, 0], [0, 1]]
dynamic_slice|x = array([1., 2., 3., 4.]); i = 1; n = 2|[2, 3]
dynamic_update_slice|x = array([1., 2., 3.]); i = 1; n = 2; y = array([7., 8.])|[1, 7, 8]
segment_sum|x = array([1., 2., 4.]); i = array([1, 0, 1]); n = 3|[2, 5, 0]
embedding|W = array([[1., 2.], [3., 4.]]); i = array([1, 1])|[[3, 4], [3, 4]]
cartesian_prod|a = array([1., 2.]); b = array([3., 4.])|[[1, 3], [1, 4], [2, 3], [2, 4]]
gaussian_nll_loss|x = array([1., 2.]); y = array([2., 2.]); v = array([1., 4.])|(1 + log(4)) / 4
gumbel_softmax|x = array([[0., 1000.]]); t = 0.5|[[0, 1]]
hinge_embedding_loss|x = array([0.25, 0.5]); y = array([1, -1]); m = 1.|0.375
margin_ranking_loss|a = array([1., 2.]); b = array([2., 1.]); y = array([1., 1.]); m = 0.|0.5
poisson_nll_loss|x = array([0., 0.]); y = array([1., 2.])|1
sliding_window_view|x = array([1., 2., 3., 4.]); k = 3|[[1, 2, 3], [2, 3, 4]]
triplet_margin_loss|a = array([[0., 0.]]); p = array([[3., 4.]]); n = array([[0., 1.]]); m = 1.|5
unfold|x = array([1., 2., 3., 4., 5.]); n = 2; k = 3; step = 2|[[1, 2, 3], [3, 4, 5]]
hinge_loss|y = array([1., -1.]); f = array([0.5, -3.])|0.25
frac|x = -1.25|-0.25
lerp|a = 2.; b = 6.; w = 0.25|3
addcmul|a = 1.; b = 2.; c = 3.|7
addcdiv|a = 1.; b = 3.; c = 2.|2.5
hann_window|n = 4|[0, 0.5, 1, 0.5]
hamming_window|n = 2|[0.08, 1]
entropy|p = array([0.5, 0.5, 0.])|log(2)
exprel|x = 1.0|exp(1) - 1
diag_embed|x = array([[1., 2.]])|[[[1, 0], [0, 2]]]
threshold|x = array([1., 3.]); t = 2.; v = 9.|[9, 3]
pairwise_distance|a = [[0., 0.]]; b = [[3., 4.]]|[5]
addmv|a = array([[1., 2.]]); b = array([3., 4.]); c = array([1.])|[12]
addr|a = array([1., 2.]); b = array([3.]); c = array([[1.], [1.]])|[[4], [7]]
addbmm|a = ones((2, 1, 3)); b = ones((2, 3, 1)); c = array([[1.]])|[[7]]
adjoint|x = array([[1., 2j]])|[[1], [-2j]]
apply_over_axes|x = ones((2, 3, 4))|[[[8], [8], [8]]]
dist|a = array([0., 0.]); b = array([3., 4.])|5
gammasgn|x = array([-0.5, 2.])|[-1, 1]
isscalar|x = 1.5|True
k0e|x = 1.0|kve(0, 1.0)
mask_indices|n = 2|[[0, 0, 1], [0, 1, 1]]
polar|r = 2.; t = 0.|2 + 0j
radian|d = 90; m = 30; s = 36|90.51 * pi / 180
rgamma|x = 4.|1 / 6
rsub|a = 1.; b = 3.|2
soft_margin_loss|x = array([1., 2.]); y = array([1., -1.])|(softplus(-1.) + softplus(2.)) / 2
normpdf|x = array([0.5, -1.])|[0.3520653267642995, 0.24197072451914337]
zscore|x = array([[1., 5.], [2., 5.5], [4., 7.]])|[[-1.0690449676496978, -0.9805806756909198], [-0.2672612419124245, -0.3922322702763677], [1.3363062095621219, 1.3728129459672886]]
skew|x = array([1., 2., 4., 8.5])|0.7173874831071387
kurtosis|x = array([1., 2., 4., 8.5])|-1.045272218498303
rankdata|x = array([2., 1., 2., 2.])|[3.0, 1.0, 3.0, 3.0]
nunique|x = array([2., 1., 2., 2.])|2
pairwise_distances|a = [[0., 0.]]; b = [[3., 4.], [0., 1.]]|[[5, 1]]
pdist|x = array([[0., 0.], [3., 4.], [0., 1.]]); n = 3|[5.0, 1.0, 4.242640687119285]
newton|f = lambda u: u ** 2 - 2; u = 1.; n = 6|sqrt(2)
simpson|y = array([0., 0.25, 1., 2.25, 4.]); dx = 0.5|2.6666666666666665
rolling_mean|x = array([1., 2., 4., 8.5]); n = 2|[1.5, 3, 6.25]
ewm|x = array([1., 2., 4., 8.5]); a = 0.25|[1.0, 1.25, 1.9375, 3.578125]
lfilter|x = array([1., 2., 4., 8.5]); b = 0.5; a = -0.25|[0.5, 1.125, 2.28125, 4.8203125]
fma|a = 2.; b = 3.; c = 1.|7
euclidean|a = array([0., 0.]); b = array([3., 4.])|5
hann|n = 4|[0, 0.5, 1, 0.5]
bucketize|boundaries = array([1., 2., 4.]); x = array([2., 3.])|[1, 2]
index_select|x = array([[1, 2], [3, 4]]); i = array([1])|[[3, 4]]
histc|x = array([1., 2., 2.5, 9.]); bins = 2; low = 0.; high = 4.|[1, 2]
kthvalue|x = array([5., 1., 4.]); k = 2|4
hilbert|n = 2|[[1, 0.5], [0.5, 0.3333333333333333]]
mode|x = array([2, 1, 2, 0])|2
maximum_filter|x = array([[1., 5., 2.], [2., 5.5, 3.], [4., 7., 3.5]])|[[5.5, 5.5, 5.5], [7.0, 7.0, 7.0], [7.0, 7.0, 7.0]]
grey_dilation|x = array([[1., 5., 2.], [2., 5.5, 3.], [4., 7., 3.5]])|[[5.5, 5.5, 5.5], [7.0, 7.0, 7.0], [7.0, 7.0, 7.0]]
minimum_filter|x = array([[1., 5., 2.], [2., 5.5, 3.], [4., 7., 3.5]])|[[1.0, 1.0, 2.0], [1.0, 1.0, 2.0], [2.0, 2.0, 3.0]]
grey_erosion|x = array([[1., 5., 2.], [2., 5.5, 3.], [4., 7., 3.5]])|[[1.0, 1.0, 2.0], [1.0, 1.0, 2.0], [2.0, 2.0, 3.0]]
medfilt|x = array([1., 5., 2., 8., 3.]); k = 3|[1.0, 2.0, 5.0, 3.0, 3.0]
sem|x = array([[1., 5., 2.], [2., 5.5, 3.], [4., 7., 3.5]])|[0.8819171036881969, 0.6009252125773317, 0.44095855184409843]
gmean|x = array([[1., 5., 2.], [2., 5.5, 3.], [4., 7., 3.5]])|[2.0, 5.774001751457728, 2.7589241763811208]
hmean|x = array([[1., 5., 2.], [2., 5.5, 3.], [4., 7., 3.5]])|[1.7142857142857142, 5.717821782178218, 2.6808510638297873]
iqr|x = array([1., 2., 4., 8.5])|3.375
linregress|x = array([1., 2., 4.]); y = array([3., 1., 7.])|[1.5714285714285712, 0.0]
pearsonr|x = array([1., 2., 4.]); y = array([3., 1., 7.])|0.7857142857142855
spearmanr|x = array([1., 2., 4., 3.]); y = array([3., 1., 7., 9.])|0.6000000000000001
median_abs_deviation|x = array([[1., 5., 2.], [2., 5.5, 3.], [4., 7., 3.5]])|[1.0, 0.5, 0.5]
variation|x = array([[1., 5., 2.], [2., 5.5, 3.], [4., 7., 3.5]])|[0.5345224838248487, 0.14568627181693672, 0.2200974933396436]
moment|x = array([[1., 5., 2.], [2., 5.5, 3.], [4., 7., 3.5]]); k = 3|[0.7407407407407399, 0.3240740740740747, -0.09259259259259273]
percentileofscore|x = array([1., 2., 4., 8.5]); s = 4.|75.0
wasserstein_distance|x = array([1., 2., 4.]); y = array([3., 1., 7.])|1.3333333333333333
cityblock|a = array([1., 2., 4.]); b = array([3., 1., 7.])|6.0
chebyshev|a = array([1., 2., 4.]); b = array([3., 1., 7.])|3.0
sqeuclidean|a = array([1., 2., 4.]); b = array([3., 1., 7.])|14.0
minkowski|a = array([1., 2., 4.]); b = array([3., 1., 7.]); p = 3|3.3019272488946263
mahalanobis|a = array([1., 2., 4.]); b = array([3., 1., 7.]); v = diag([1., 2., 3.])|5.744562646538029
issymmetric|x = array([[1., 5., 2.], [2., 5.5, 3.], [4., 7., 3.5]])|False
ishermitian|x = array([[1., 2j], [-2j, 3.]])|True
cosdg|x = 60.|0.49999999999999994
sindg|x = 30.|0.49999999999999994
tandg|x = 45.|1.0
cosm1|x = 1e-3|-4.999999583333347e-07
powm1|x = 1.5; y = 1e-9|4.0546510819036537e-10
zetac|x = 3.|0.2020569031595943
bdtr|k = 2.; n = 5.; p = 0.3|0.8369199999999999
chdtr|v = 3.; x = 2.|0.42759329552912023
fdtr|m = 3.; n = 4.; x = 1.5|0.6571120913614141
gdtr|a = 2.; b = 3.; x = 1.5|0.5768099188731566
pdtr|k = 2.; m = 1.5|0.8088468305380582
stdtr|n = 4.; t = array([-1.5, 0.5])|[0.10399999999999991, 0.6783350184090684]
spherical_jn|n = 2; x = 1.5|0.12734928368840834
minimize|f = lambda u: sum((u - 3.) ** 2); u = array([1., 2.]); n = 200|[3.0, 3.0]
fsolve|f = lambda u: u ** 2 - array([2., 3.]); u = array([1., 1.]); n = 8|[1.4142135623730951, 1.7320508075688772]
brentq|f = lambda u: u ** 2 - 2; u = 1.; n = 6|1.4142135623730951
least_squares|f = lambda u: u[0] * exp(u[1] * arange(4.)) - 2 * exp(0.5 * arange(4.)); u = array([1., 0.3]); n = 12|[2.0, 0.5]
fixed_point|f = lambda u: cos(u); u = 1.; n = 200|0.7390851332151607
approx_fprime|f = lambda u: sum(u ** 2); x = array([1., 2.])|[2.0, 4.0]
odeint|f = lambda u: -u; u = 1.; h = 0.5; n = 2|[0.5, 0.25]
quad|f = lambda u: u ** 2; a = 0.; b = 3.; n = 100000|8.999999999775
renorm|x = array([[3., 4.], [0.3, 0.4]]); m = 1.|[[0.5999999880000002, 0.7999999840000003], [0.3, 0.4]]
unique_consecutive|x = array([1, 1, 2, 1, 1])|[1, 2, 1]
index_reduce|x = array([1., 2., 4.]); i = array([0, 0, 2]); v = array([1., 5., 2.])|[5.0, 2.0, 4.0]
embedding_bag|W = array([[1., 2.], [3., 5.]]); i = array([[0, 1], [1, 1]])|[[2.0, 3.5], [3.0, 5.0]]
polyroots|c = array([6., -5., 1.])|[3.0, 2.0]
detrend|x = array([1., 2., 4., 8.5])|[0.8000000000000007, -0.6499999999999995, -1.0999999999999996, 0.9500000000000002]
find_peaks|x = array([0., 2., 1., 3., 0.])|[1, 3]
sawtooth|t = array([-1., 0.5, 7.])|[0.6816901138162093, -0.8408450569081046, -0.7718307967134652]
zip|x = array([1., 2., 4.]); y = array([3., 1., 7.])|[4.0, 3.0, 11.0]
enumerate|x = array([1., 2., 4.]); y = array([3., 1., 7.])|[0.0, 2.0, 8.0]
add.reduce|x = array([[1., 3.], [2., 1.]])|[3.0, 4.0]
add.accumulate|x = array([[1., 3.], [2., 1.]])|[[1.0, 3.0], [3.0, 4.0]]
multiply.reduce|x = array([[1., 3.], [2., 1.]])|[2.0, 3.0]
multiply.accumulate|x = array([[1., 3.], [2., 1.]])|[[1.0, 3.0], [2.0, 3.0]]
maximum.reduce|x = array([[1., 3.], [2., 1.]])|[2.0, 3.0]
maximum.accumulate|x = array([[1., 3.], [2., 1.]])|[[1.0, 3.0], [2.0, 3.0]]
minimum.reduce|x = array([[1., 3.], [2., 1.]])|[1.0, 1.0]
minimum.accumulate|x = array([[1., 3.], [2., 1.]])|[[1.0, 3.0], [1.0, 1.0]]
add.outer|x = array([1., 2., 4.]); y = array([3., 1., 7.])|[[4.0, 2.0, 8.0], [5.0, 3.0, 9.0], [7.0, 5.0, 11.0]]
subtract.outer|x = array([1., 2., 4.]); y = array([3., 1., 7.])|[[-2.0, 0.0, -6.0], [-1.0, 1.0, -5.0], [1.0, 3.0, -3.0]]
multiply.outer|x = array([1., 2., 4.]); y = array([3., 1., 7.])|[[3.0, 1.0, 7.0], [6.0, 2.0, 14.0], [12.0, 4.0, 28.0]]
maximum.outer|x = array([1., 2., 4.]); y = array([3., 1., 7.])|[[3.0, 1.0, 7.0], [3.0, 2.0, 7.0], [4.0, 4.0, 7.0]]
minimum.outer|x = array([1., 2., 4.]); y = array([3., 1., 7.])|[[1.0, 1.0, 1.0], [2.0, 1.0, 2.0], [3.0, 1.0, 4.0]]
divide.outer|x = array([1., 2., 4.]); y = array([3., 1., 7.])|[[0.3333333333333333, 1.0, 0.14285714285714285], [0.6666666666666666, 2.0, 0.2857142857142857], [1.3333333333333333, 4.0, 0.5714285714285714]]
equal.outer|x = array([1., 2., 4.]); y = array([3., 1., 7.])|[[False, True, False], [False, False, False], [False, False, False]]
add.at|x = array([1., 2., 4.]); i = array([0, 0, 2]); v = array([1., 5., 2.])|[7.0, 2.0, 6.0]
subtract.at|x = array([1., 2., 4.]); i = array([0, 0, 2]); v = array([1., 5., 2.])|[-5.0, 2.0, 2.0]
maximum.at|x = array([1., 2., 4.]); i = array([0, 0, 2]); v = array([1., 5., 2.])|[5.0, 2.0, 4.0]
minimum.at|x = array([1., 2., 4.]); i = array([0, 0, 2]); v = array([1., 5., 2.])|[1.0, 2.0, 2.0]
add.reduceat|x = array([1., 2., 4., 8.5]); i = array([0, 1, 3])|[1.0, 6.0, 8.5]
bitwise_and.reduce|x = array([[6, 3], [5, 1], [4, 7]])|[4, 1]
bitwise_or.reduce|x = array([[6, 3], [5, 1], [4, 7]])|[7, 7]
bitwise_xor.reduce|x = array([[6, 3], [5, 1], [4, 7]])|[7, 5]
logaddexp.reduce|x = array([[1., 3.], [2., 1.]])|[2.313261687518223, 3.1269280110429727]
logical_and.reduce|x = array([[True, False], [False, False]])|[False, False]
logical_or.reduce|x = array([[True, False], [False, False]])|[True, False]
logical_or.accumulate|x = array([[True, False], [False, False]])|[[True, False], [True, False]]
beta.cdf|x = 0.3; a = 2.; b = 3.|0.34829999999999994
beta.pdf|x = 0.3; a = 2.; b = 3.|1.7639999999999991
binom.cdf|k = 2.; n = 5.; p = 0.3|0.83692
binom.pmf|k = 2.; n = 5.; p = 0.3|0.3086999999999998
chi2.cdf|x = 2.; k = 3.|0.42759329552912023
chi2.pdf|x = 2.; k = 3.|0.2075537487102974
chi2.ppf|p = 0.4; k = 3.|1.8691684033887161
chi2.sf|x = 2.; k = 3.|0.5724067044708798
expon.cdf|x = 2.; scale = 3.|0.486582880967408
expon.pdf|x = 2.; scale = 3.|0.17113903967753066
gamma.cdf|x = 2.; a = 1.5; scale = 3.|0.27876662537223956
gamma.pdf|x = 2.; a = 1.5; scale = 3.|0.15767343187927893
gamma.ppf|p = 0.4; a = 1.5; scale = 3.|2.803752605083074
multivariate_normal.logpdf|x = array([1., 2.]); mean = array([0., 1.]); cov = array([[2., 1.], [1., 3.]])|-2.9425960226263954
multivariate_normal.pdf|x = array([1., 2.]); mean = array([0., 1.]); cov = array([[2., 1.], [1., 3.]])|0.05272866609622072
norm.cdf|x = 0.75; loc = 0.25; scale = 2.|0.5987063256829237
norm.logcdf|x = 0.75; loc = 0.25; scale = 2.|-0.5129840754094307
norm.logpdf|x = 0.75; loc = 0.25; scale = 2.|-1.643335713764618
norm.pdf|x = 0.75; loc = 0.25; scale = 2.|0.19333405840142465
norm.sf|x = 0.75; loc = 0.25; scale = 2.|0.4012936743170763
norm.ppf|p = 0.3; loc = 0.25; scale = 2.|-0.7988010254160818
norm.isf|p = 0.3; loc = 0.25; scale = 2.|1.2988010254160818
poisson.cdf|k = 2.; mu = 1.5|0.8088468305380582
poisson.pmf|k = 2.; mu = 1.5|0.25102143016698353
t.cdf|x = array([-1.5, 0.5]); n = 4.|[0.10399999999999991, 0.6783350184090684]
t.pdf|x = 0.5; n = 4.|0.32226186856038713
END
}

# The same of an argument that one function lacks, or, `(more)`, of one too many: values are those of NumPy, SciPy and PyTorch.
@test "what is suggested for an argument computes it" {
    local name args want recipe e given
    while IFS='|' read -r name args want; do
        recipe=$(sed -n "s/^SYNONYM(ARGUMENT, \"$name\", \"\(.*\)\")\$/\1/p" "$ROOT/lib/type/synonym.def")
        given=()
        while read -r -d ';' e; do given+=(-e "$e"); done <<<"$args;"
        gload --new "${given[@]}" -e "out = $recipe" --outputs out -o r.tlg
        ok "grun r.tlg --expect 'out=$want' -o o"
    done <<'END'
angle.deg|c = array([1j, -1])|[90.0, 180.0]
argsort.kind|x = array([2., 1., 2., 1.])|[1, 3, 0, 2]
sort.kind|x = array([2., 1., 3.])|[1.0, 2.0, 3.0]
cov.bias|x = array([[1., 2., 4.], [3., 1., 7.]])|[[1.5555555555555556, 2.444444444444444], [2.444444444444444, 6.222222222222222]]
cov.fweights|x = array([[1., 2., 4.], [3., 1., 7.]]); fweights = array([1, 2, 1])|[[1.5833333333333333, 2.6666666666666665], [2.6666666666666665, 8.0]]
geomspace.endpoint|start = 1.; stop = 8.; num = 3|[1.0, 2.0, 4.0]
linspace.endpoint|start = 0.; stop = 1.; num = 4|[0.0, 0.25, 0.5, 0.75]
linspace.retstep|start = 0.; stop = 1.; num = 5|0.25
logspace.endpoint|start = 0.; stop = 2.; num = 2|[1.0, 10.0]
interp.left|x = array([-1., 0.5]); xp = array([0., 1.]); fp = array([2., 4.]); left = 9.|[9.0, 3.0]
interp.right|x = array([2., 0.5]); xp = array([0., 1.]); fp = array([2., 4.]); right = 9.|[9.0, 3.0]
logit.eps|x = array([0., 0.5, 1.]); eps = 0.25|[-1.0986122886681098, 0.0, 1.0986122886681098]
logsumexp.b|x = array([0., 1.]); b = array([2., 3.])|2.3179509792964152
polyder.(more)|p = array([1., 2., 3.])|[2.0]
polyint.m|p = array([6., 2.])|[1.0, 1.0, 0.0, 0.0]
ravel.order|x = array([[1, 2], [3, 4]])|[1, 3, 2, 4]
ravel.start_dim|x = reshape(arange(4), (2, 1, 2))|[[0, 1], [2, 3]]
reshape.order|x = array([[1, 2, 3], [4, 5, 6]]); shape = [3, 2]|[[1, 5], [4, 3], [2, 6]]
rot90.axes|x = reshape(arange(4), (1, 2, 2))|[[[1, 3], [0, 2]]]
searchsorted.sorter|a = array([3., 1., 2.]); sorter = array([1, 2, 0]); v = 2.5|2
softplus.beta|x = array([0., 1.]); beta = 2.|[0.34657359027997264, 1.0634640055214863]
solve_triangular.upper|a = array([[2., 1.], [0., 4.]]); b = array([[1.], [2.]])|[[0.25], [0.5]]
take.mode|x = array([1., 2., 3.]); i = array([-5, 1, 9])|[1.0, 2.0, 3.0]
trace.axis1|x = reshape(arange(8), (2, 2, 2))|[3, 11]
trace.(more)|x = reshape(arange(8), (2, 2, 2))|[3, 11]
true_divide.rounding_mode|x = -7.; y = 2.|-4.0
END
}

@test "arguments of other systems: what they are here" {
    said_all 'v: float64[6]' <<'END'
linspace(0, 1, 5, endpoint=False)|19|as in `linspace\(start, stop, num \+ 1\)\[:-1\]`
linspace(0, 1, 5, False)|19|as in `linspace\(
geomspace(1, 8, 5, False)|20|as in `geomspace\(
logspace(0, 1, 5, False)|19|as in `logspace\(
linspace(0, 1, steps=5)|16|here it is `num=`
angle(v, deg=True)|10|as in `rad2deg\(angle\(c\)\)`
angle(v, True)|10|as in `rad2deg\(angle\(c\)\)`
std(m, unbiased=False)|8|here it is `ddof=`
quantile(v, 0.3, interpolation="lower")|18|here it is `method=`
triu(m, diagonal=1)|9|here it is `k=`
diagonal(m, dim1=1)|13|here it is `axis1=`
tensordot(m, m, dims=2)|17|here it is `axes=`
roll(m, shifts=1)|9|here it is `shift=`
leaky_relu(v, negative_slope=0.2)|15|here it is `alpha=`
softshrink(v, lambd=0.2)|15|here it is `threshold=`
mse_loss(v, v, reduction="sum")|16|as in `sum\(mse_loss\(x, y, mean=False\)\)`
eigh(m @ m.T, UPLO="U")|15|here it is `lower=`
sum(m, 1, True)|11|write keepdims=
mean(m, 1, True)|12|write keepdims=
where(m > 0)|1|nonzero\(cond\) has the positions
max(v, v)|8|write maximum\(x, y\) for the larger of two
min(3, 5)|8|write minimum\(x, y\) for the smaller of two
transpose(m, 0, 1)|14|write swapaxes\(x, i, j\)
m.transpose(0, 1)|1[39]|write swapaxes\(x, i, j\)
m.transpose(-2, -1)|1[39]|write swapaxes\(x, i, j\)
t.transpose(1, 2)|13|write swapaxes\(x, i, j\)
m.where(m > 0, 0.)|1|write where\(condition, x, \.\.\.\)
m.compress([True, False])|1|write compress\(condition, x, \.\.\.\)
m.select(0, 1)|1|write select\(condition, x, \.\.\.\)
trapezoid(v, 2)|14|write dx=
trapezoid(v, x=k)|14|write dx=
cumulative_trapezoid(v, 0.5)|25|write dx=
tril_indices(3, -1)|17|write k=-1 for the diagonal
layer_norm(m, [3])|15|write axis=-1, or scale=
layer_norm(m, 3)|15|write axis=-1, or scale=
layer_norm(t, (3, 4))|15|write axis=\[-2, -1\], or scale=
rms_norm(m, m.shape[-1])|13|write axis=-1, or scale=
layer_norm(rows, rows.shape[-1:])|29|write axis=-1, or scale=
cross(m[0, :2], m[1, :2])|7|x\[0\] \* y\[1\] - x\[1\] \* y\[0\]
cross(t, t)|7|takes vectors with three elements
v.astype(int)|10|write int64
zeros(3, dtype=float)|10|write float64 or float32
array([1], int)|12|write int64
meshgrid(v, v, sparse=True)|16|as in `\(x\[None, :\], y\[:, None\]\)`
max_pool(t, 2, stride=1)|16|here it is `strides=`
conv(t, t, dilation=2)|12|here it is `dilations=`
r_[v, v]|1|`r_` is not defined: write concatenate\(\[v, w\]\)
c_[v, v]|1|write column_stack\(v, w\)
mgrid[0:2, 0:3]|1|write indices\(\(n, m\)\)
np.r_[v, v]|1|drop the prefix `np\.`: write concatenate
nn.functional.relu(v)|1|drop the prefix `nn\.functional\.`: write relu
v.flat[2]|1|write ravel\(x\)
default_rng(1)|1|write rng\(seed\)
END
    printf 'thunkline: 1\nlet: |\n  y = zeros(2).astype(int)\noutputs: [y]\n' >f.yaml
    bad 3 E_NAME '3:23: .*`int` is not defined: here it is `int64`' 'gload f.yaml'
}

# agree OURS THEIRS: the same values, without a word.
agree() {
    ok "gload -i 'm: float64[2, 3]' -i 'v: float64[3]' -i 's: float64[2, 2]' -e 'a = $1' -e 'b = $2' --outputs a,b -o g.tlg" ''
    ok "grun g.tlg m='[[1, 2.5, -3], [0.5, 4, -1]]' v='[1, 2, 4.5]' s='[[2, 1], [1, 3]]' -r a=a.npy -r b=b.npy"
    cmp a.npy b.npy || complain 'should be the same' "$1"
}

@test "arguments in the order of NumPy and SciPy, where it has no other sense here" {
    agree 'average(m, 0)' 'average(m, axis=0)'
    agree 'average(m, -1)' 'average(m, axis=-1)'
    agree 'average(m, None)' 'average(m)'
    agree 'average(m, 1, v)' 'average(m, v, axis=1)'
    agree 'average(v, None, v)' 'average(v, weights=v)'
    agree 'average(m, 1, 0)' 'average(m, weights=1, axis=0)'
    agree 'average(m, m)' 'average(m, weights=m)'
    agree 'histogram(v, 4, [0, 2.], True)[0]' 'histogram(v, 4, [0, 2.], density=True)[0]'
    agree 'histogram(v, 4, [0, 2.], False, v)[0]' 'histogram(v, 4, [0, 2.], weights=v)[0]'
    agree 'histogram(v, 4, [0, 2.], None, v)[0]' 'histogram(v, 4, [0, 2.], weights=v)[0]'
    agree 'histogram(v, 4, [0, 2.], None, True)[0]' 'histogram(v, 4, [0, 2.], density=True)[0]'
    agree 'histogram(v, 4, [0, 2.], v, True)[0]' 'histogram(v, 4, [0, 2.], weights=v, density=True)[0]'
    agree 'histogram2d(v, v, 2, [[0, 5.], [0, 5.]], True)[0]' 'histogram2d(v, v, 2, [[0, 5.], [0, 5.]], density=True)[0]'
    agree 'nan_to_num(m / 0., False, 7.0, 1.0, 2.0)' 'nan_to_num(m / 0., value=7.0, posinf=1.0, neginf=2.0)'
    agree 'nan_to_num(m * nan, copy=True, nan=7.0)' 'nan_to_num(m * nan, value=7.0)'
    agree 'linspace(0, 1, 5, True)' 'linspace(0, 1, 5)'
    agree 'logspace(0, 2, 3, True, 2.0)' 'logspace(0, 2, 3, base=2.0)'
    agree 'geomspace(1, 8, 4, True)' 'geomspace(1, 8, 4)'
    agree 'lu_solve(lu_factor(s), v[:2])' 'lu_solve(lu_factor(s)[0], lu_factor(s)[1], v[:2])'
    agree 'lu_solve([[4.0, 4.0], [0.25, 1.0]], [1, 1], v[:2])' 'lu_solve(array([[4.0, 4.0], [0.25, 1.0]]), array([1, 1]), v[:2])'
    agree 'cho_solve((cholesky(s), True), v[:2])' 'cho_solve(cholesky(s), v[:2], lower=True)'
    agree 'cross(m.T, m.T[::-1, ::-1], axis=0)' 'cross(m, m[::-1, ::-1]).T'
    agree 'layer_norm(m, 2)' 'layer_norm(m, scale=2)'
    agree 'layer_norm(m, v, v)' 'layer_norm(m, scale=v, bias=v)'
    agree '(m > 0).where(m, 0.)' 'where(m > 0, m, 0.)'
    agree 'max(3)' '3'
    agree 'max(m, 1)' 'max(m, axis=1)'
    agree 'trapezoid(v, 0., 2)' 'trapezoid(v, dx=2)'
}

@test "what could be meant in two ways is said" {
    said_once() {
        shell "gload -i 'x: float64[2, 3]' -i 'n: int64' -e '$1' -o y.tlg"
        [ "$status" = 0 ] && [ "$(grep -c 'warning.E_ARG' .err)" = 1 ] && grep -q -- "$2" .err || complain "should warn of: $2" "$1"
    }
    local line
    said_once 'y = gradient(x) + gradient(2 * x)' 'along the last of float64.2, 3.'
    said_once 'y = triu_indices(3, 1)' 'write k=1 for the diagonal'
    said_once 'y = tril_indices(n, 0)' 'write k=0 for the diagonal'
    said_once 'y = polyint(x[0], 2)' 'the constant here, not how often'
    said_once 'values, indices = sort(x)' 'argsort(x, ...) has the indices'
    said_once 'values, idx = x.max(axis=1)' 'argmax(x, ...) has the indices'
    said_once 'values, _ = cummax(x, axis=1)' 'gives the values alone'
    said_once 'y = reduce(lambda acc, r: 2 * acc + r, x, zeros(3))' '`acc` is the row: states come after it'
    said_once 'y = scan(lambda carry, r: carry - r, sequences=[x], outputs_info=[x[0]])' 'write lambda x, carry: ...'
    for line in 'y = reduce(lambda r, acc: acc - r, x, zeros(3))' 'y = scan(lambda acc: 2 * acc, outputs_info=[x], n_steps=3)' 'y = layer_norm(x[:, :1], 1)' \
        'y = map(lambda total, k: total * k, x, non_sequences=[2.])' 'y = gradient(x, axis=-1)' 'y = gradient(x[0])' 'y = map(lambda r: gradient(r), x)' 'y = triu_indices(3, 3)' 'y = triu_indices(3, m=1)' \
        'y = triu_indices(3, k=1)' 'y = triu_indices(n, n)' 'y = polyint(x[0], k=2)' 'y = polyint(x[0], 0.5)' 'lo, hi = sort(x)' 'v, i = argsort(x)'; do
        ok "gload -i 'x: float64[2, 3]' -i 'n: int64' -e '$line' -o y.tlg" ''
    done
    bad 3 E_ARITY 'argsort\(x, \.\.\.\) has the indices' "gload -i 'x: float64[3, 3]' -e 'v, i = sort(x)'"
    ok "gload -i 'r_: float64[3]' -i 'nn: float64' -e 'y = r_[0] + nn' -o y.tlg" ''
    # an op of a user's own with such a name is not meant
    printf 'thunkline: 1\nops:\n  polyint:\n    doc: A sum.\n    inputs: p, k\n    def: p + k\n' >own.yaml
    ok "gload --ops own.yaml -i 'x: float64[3]' -e 'y = polyint(x, 2)' -o y.tlg" ''
}

@test "each synonym is no function of ours, and what it leads to is one" {
    sed -n 's/^SYNONYM(FUNCTION, "\(.*\)", "\(.*\)")$/\1 \2/p' "$ROOT/lib/type/synonym.def" >rows
    [ "$(wc -l <rows)" -gt 100 ]
    {
        gload --list-ops --all | awk '{ print $1 }'
        printf '%s\n' array bool float16 float32 float64 int64
    } >ours
    while read -r theirs cure; do
        bad 3 E_NAME "there is no function .$theirs.: (here it is|write)" "gload -e '$theirs(x)'"
        case $cure in *[!a-z0-9_]*) continue ;; esac
        grep -qx -- "$cure" ours || complain "leads to no function: $cure" "$theirs"
    done <rows
    [ -z "$(cut -d' ' -f1 rows | sort | uniq -d)" ]
}

# A table: lines of a file after `thunkline: 1`, \n for the ends | line:column | what is said.
file_said() {
    local text place want
    while IFS='|' read -r text place want; do
        printf 'thunkline: 1\n%b\n' "$text" >f.yaml
        bad 3 E_ "$want" 'gload f.yaml -o o.tlg'
        grep -q "^gload: f.yaml:$place: error" .err || complain "should be at $place" "$text"
        ! grep -q 'needs quotes' .err || complain 'quotes are no cure' "$text"
    done
}

@test "slips of YAML: the cure is the one that works" {
    file_said <<'END'
inputs:\n\tx: float64\noutputs: [x]|3:1|a tab .*blanks
inputs:\n  x: float64\n \ty: float64\noutputs: [x]|4:2|a tab .*blanks
inputs:\n  x: float64\n   y: float64\noutputs: [x]|4:1|indented by 3, the one above by 2
inputs:\n   x: float64\n\n # here\n  y: float64\noutputs: [x]|6:1|indented by 2, the one above by 3
 inputs:\n  x: float64\noutputs: [x]|2:1|indented by 1, the one above by 0
inputs:\nx: float64\noutputs: [x]|3:1|belongs to "inputs" above, indent it
inputs:\n  x: float64\noutputs: x|4:10|write `outputs: \[x\]`
inputs:\n  x: float64\noutputs: x, x|4:10|write `outputs: \[x, x\]`
inputs:\n  x: float64\noutputs: x + 1|4:10|and below it a line `  y: x \+ 1`
inputs:\n  x: float64\noutputs: [x + 1]|4:11|give it a label: .*`  y: x \+ 1`
inputs:\n  x: float64\noutputs:\n  - y: x|5:5|without dashes
inputs: [a, b]\noutputs: [a]|2:9|a line for each: `  a: float64`
inputs:\n  - x: float64\noutputs: [x]|3:3|leave out the dashes
inputs: x\noutputs: [x]|2:10|a declaration `name: type`
shared: [w]\noutputs: [w]|2:9|a line for each: `  w: float64 = 0\.0`
let:\n  - y = 1\noutputs: [y]|3:3|write `let: .`, .*without dashes
shared:\n  w: float64 = 0.\nupdates: [w]\noutputs: [w]|4:10|a line for each: `  w: EXPRESSION`
END
    printf 'thunkline: 1\nlet: |\n\ty = 1\noutputs: [y]\n' >f.yaml
    bad 3 E_FORMAT '3:1: .*a tab' 'gload f.yaml'
    printf 'thunkline: 1\nlet: {y: x + 1,\n\tz: 3}\ninputs: {x: float64}\noutputs: [y, z]\n' >f.yaml
    ok 'gload f.yaml | grun x=1' $'y = 2.0\nz = 3'
    printf 'thunkline: 1\ninputs:\n  x: float64\noutputs:\n  a: x: y\n' >f.yaml
    bad 3 E_FORMAT '5:7: .*' 'gload f.yaml'
    grep -q "needs quotes around it:   a: 'x: y'" .err
}

@test "a new graph from options alone leaves standard input alone, whatever else they do" {
    local in='echo no graph |'
    out() { ok "$in $1; exit \${PIPESTATUS[2]}" "$2"; }
    out "gload -e 'y = 3' -e 'z = y + 1' --outputs z | grun" 'z = 4'
    out "gload -i 'x: float64[n]' -e 'y = sum(x)' --outputs y --dim n=2 | grun x=[1,2]" 'y = 3.0'
    out "gload --shared 'w: float64 = 1' --update 'w = w + 1' -e 'v = w' --outputs v --set w=4 | grun" 'v = 4.0'
    out "gload -i 'x: float64' -e 'y = x + 0' --outputs z --rename y=z --compare 'z: rtol=1' | grun x=1" 'z = 1.0'
    out "gload -i 'x: float64[?]' -e 'y = x' --narrow 'x: float64[2]' --prefix p_ | grun p_x=[1,2]" 'p_y = [1.0, 2.0]'
    out "gload -e 'y = map(lambda a: a + 1, [1, 2])' --outputs y | grun" 'y = [2, 3]'
    bad 3 E_SYNTAX '1:8' "$in gload -e 'y = 3 +' --outputs y"
    bad 3 E_SHAPE '3 and 2' "$in gload -e 'y = ones(3) + ones(2)' --outputs y"
    ok "printf 'a\nb\n' | while read -r l; do gload -e 'y = 1' --outputs y | grun; done" $'y = 1\ny = 1'
}

@test "names that the options do not declare are those of the graph that is piped in" {
    ok "gload -e 'y = x * 2' | gload -e 'z = y + 1' --outputs z | grun x=3" 'z = 7.0'
    ok "gload -e 'y = x * 2' | gload -i 'q: float64' --outputs y | grun x=3 --on-unused-input ignore" 'y = 6.0'
    ok "gload -i 'x: float64[n]' -e 'y = x' | gload -e 'k = 1' --dim n=2 --outputs y,k | grun x=[1,2]" $'y = [1.0, 2.0]\nk = 1'
    bad 4 E_TRUNCATED 'note: with --new' "true | gload -e 'z = y + 1' --outputs z"
}

@test "--check takes each file by itself, and a graph that does nothing is noted" {
    printf 'thunkline: 1\ninputs: {x: float64}\nlet: {y: x + 1}\noutputs: [y]\n' >a.yaml
    cp a.yaml b.yaml
    ok 'gload --check a.yaml b.yaml' ''
    bad 3 E_DUPLICATE 'both graphs' 'gload a.yaml b.yaml -o o.tlg'
    echo 'outputs: [y' >c.yaml
    printf 'thunkline: 1\ninputs: {x: float64}\nlet: {y: z}\noutputs: [y]\n' >d.yaml
    shell 'gload --check a.yaml c.yaml b.yaml d.yaml'
    [ "$status" = 3 ] && [ "$(grep -c 'error\[' .err)" = 2 ] || complain 'should report two files' 'gload --check'
    printf 'thunkline: 1\ninputs: {x: float64}\n' >e.yaml
    for line in 'gload --check e.yaml' 'gload --check a.yaml e.yaml' 'grun e.yaml x=1'; do
        shell "$line"
        [ "$status" = 0 ] && grep -q 'warning.E_UNUSED.: .*the graph has no outputs, updates or effects' .err || complain 'should warn' "$line"
    done
}

@test "commas separate the names of an option" {
    printf 'thunkline: 1\nshared: |\n  w: float64 = 1\n  b: float64 = 1\nlet: {c: w * b}\noutputs: [c]\n' >lin.yaml
    bad 2 E_USAGE 'commas separate names: --wrt w,b' 'ggrad lin.yaml --wrt w b'
    bad 2 E_USAGE 'commas separate names: --wrt w,b' 'ggrad --wrt w b lin.yaml'
    bad 2 E_USAGE 'two graphs are given' 'ggrad lin.yaml b --wrt w'
    ! grep -q commas .err || false
}

@test "softmax without an axis is over all elements, which is said once where it matters" {
    local line
    for f in softmax log_softmax; do
        shell "gload -i 'x: float64[2, 2]' -e 'y = $f(x) + $f(2 * x) + map(lambda r: $f(r), x)' | grun 'x=[[0, 0], [0, 0]]'"
        [ "$status" = 0 ] && [ "$(grep -c 'warning.E_ARG.: '$f' without an axis is over all elements of float64.2, 2.' .err)" = 1 ]
        grep -q '^gload: --expr:1:5: ' .err
        for line in "$f(x, 1)" "$f(x, axis=-1)" "$f(x, axis=None)" "$f(x[0])" "map(lambda r: $f(r), x)" "vectorize(lambda r: $f(r))(x)"; do
            ok "gload -i 'x: float64[2, 2]' -e 'y = $line' -o y.tlg" ''
        done
    done
    ok "gload -i 'x: float64[2, 2]' -e 'y = softmax(x, axis=None)' | grun 'x=[[0, 0], [0, 0]]'" $'y = [[0.25, 0.25],\n     [0.25, 0.25]]'
}

@test "several names take several values, with brackets or without" {
    ok "gload -e 'a, b = 1, x * 2' -e 'c, d = (b, a)' | grun x=3" $'a = 1\nb = 6.0\nc = 6.0\nd = 1'
    printf 'thunkline: 1\ninputs: {x: float64}\nlet: |\n  a, b = x + 1, [x,\n    2]\n  c, d = b  # two\noutputs: [a, c, d]\n' >f.yaml
    ok 'grun f.yaml x=1' $'a = 2.0\nc = 1.0\nd = 2'
    ok 'gload f.yaml -O yaml | grun x=1' $'a = 2.0\nc = 1.0\nd = 2'
    bad 3 E_ARITY '1:8: .*2 names for 3 values' "gload -e 'a, b = 1, 2, 3'"
    bad 3 E_SYNTAX '1:11: .*an expression' "gload -e 'a, b = 1, '"
    bad 3 E_SYNTAX '1:6: .*in brackets' "gload -e 'a = 1, 2'"
}

@test "several names take the rows of a tensor whose number is known" {
    ok "gload -i 'm: float64[2, n]' -e 'a, b = m' | grun 'm=[[1, 2], [3, 4]]'" $'a = [1.0, 2.0]\nb = [3.0, 4.0]'
    ok "gload -e 'a, b, c = 2 * arange(3)' | grun" $'a = 0\nb = 2\nc = 4'
    ok "gload -i 'm: float64[2, 2]' -e 'u, s, v = svd(m)' --outputs s | grun 'm=[[2, 0], [0, 1]]'" 's = [2.0, 1.0]'
    bad 3 E_ARITY '1:8: .*2 names for the 3 rows of float64\[3, n\]' "gload -i 'm: float64[3, n]' -e 'a, b = m'"
    bad 3 E_ARITY '1:8: .*2 names for the rows of float64\[n\], whose number is not known' "gload -i 'm: float64[n]' -e 'a, b = m'"
    bad 3 E_ARITY '1:8: .*2 names for one value' "gload -i 'm: float64' -e 'a, b = m'"
}

@test "a star of Python, bytes of an array" {
    said <<'END'
[k, *m]|5|write \[a\] \+ m for a list, concatenate\(\[\[a\], m\]\) for a tensor
sum(*m)|5|m\[0\], m\[1\] for arguments
m.nbytes|1|write x\.size \* 8 for a float64
m.itemsize|1|write 8 for a float64, 4 for a float32
m.mH|1|write conj\(swapaxes\(x, -1, -2\)\)
END
    ok "gload -i 'v: float64[2]' -e 'a = 1.0' -e 'y = concatenate([[a], v])' -e 'z = [a] + [v[0], v[1]]' --outputs y,z | grun v=[2,3]" $'y = [1.0, 2.0, 3.0]\nz/0 = 1.0\nz/1 = 2.0\nz/2 = 3.0'
}

@test "a warning is said once for a place, however often its lambda is called" {
    local call
    for call in 'polyint(v, 2)' 'sum(tril_indices(4, 2)[0]) + v' 'sum(triu_indices(4, 2)[1]) + v'; do
        shell "gload --new -i 'x: float64[3]' -e 'f = lambda v: $call' -e 'y = f(x) + f(2 * x)' -e 'z = f(x[::-1])' --outputs y,z -o o.tlg"
        [ "$status" = 0 ]
        [ "$(grep -c 'warning\[' .err)" = 1 ] || complain 'should warn once' "$call"
    done
    # of two places twice, and again of a place in another call of a tool
    shell "gload -i 'x: float64[3]' -e 'y = polyint(x, 2)' -e 'z = polyint(x, 2)' -o o.tlg"
    [ "$(grep -c 'warning\[' .err)" = 2 ]
}

@test "functions of a module that mean something else here, functions of functions, results by name" {
    said_all 'v: float64[3]' <<'END'
jax.grad(lambda z: z)(k)|1|there is no `jax\.grad`: write grad\(f\(x\), x\)
grad(lambda z: z)(k)|1|it takes a value, not a function: write grad\(f\(x\), x\)
hessian(lambda z: z)|1|write hessian\(f\(x\), x\)
jacobian(lambda z: z)|1|write jacobian\(f\(x\), x\)
lax.cond(k > 0, k, m)|1|write ifelse\(c, a, b\)
jax.lax.scan(lambda c, r: c, k, v)|1|write scan\(lambda row, c: f\(row, c\), sequences=\[xs\]
torch.std(m)|1|write std\(x, ddof=1\)
torch.max(m, 1)|1|write max\(x\), maximum\(x, y\), or max\(x, axis=i\) and argmax\(x, axis=i\)
np.correlate(v, v)|1|write correlate\(x, y, mode=.valid.\)
svd(m).S|1|write svd\(x\)\[1\]
eigh(m @ m.T).eigenvalues|1|write eigh\(x\)\[0\]
sort(v).indices|1|argsort\(x\)
max(m, 1).values|1|max and sort give the values
m.size(0)|1|x\.shape\[i\] of one dim
nn.Linear(3, 4)(v)|1|write x @ w \+ b
F.mse_loss(v, v)|1|drop the prefix `F\.`: write mse_loss
F.cross_entropy(m, v)|1|drop the prefix `F\.`: write cross_entropy
jit(lambda z: z)(v)|1|graphs are compiled whole
split(v, 2)|1|a number is how many parts, not their size: array_split
END
    ok "gload -i 'x: float64[n]' -i 'i: int64[k]' -i 'v: float64[k]' -e \"y = scatter_elements(x, i, v, axis=0, reduction='add')\" -e 'z = inc_subtensor(x[i], v)' --outputs y,z | grun x=[1,2,3] i=[0,0,2] v=[5,6,7]" $'y = [12.0, 2.0, 10.0]\nz = [12.0, 2.0, 10.0]'
    ok "gload -i 'F: float64[2]' -e 'y = F.mse_loss(F + 1)' | grun F=[1,2]" 'y = 1.0'
}

# A table: statements of a file, with \n for line ends | line:column | what the message or its notes say.
@test "statements of Python" {
    local lines place want
    while IFS='|' read -r lines place want; do
        printf 'thunkline: 1\ninputs: {x: "float64[n]", y: "int64[n]", m: "float64[n, d]"}\nlet: |\n  %b\noutputs: [z]\n' "${lines//'\n'/'\n'  }" >f.yaml
        bad 3 E_ "$want" 'gload f.yaml -o o.tlg'
        grep -q "^gload: f.yaml:$place: error" .err || complain "should be at $place" "$lines"
    done <<'END'
import numpy\nz = x|4:3|functions need none
z = x\nreturn z|5:3|`outputs` has the names of the results
assert n > 2\nz = x|4:3|write y = assert_op\(x, condition\)
with no_grad():\nz = x|4:3|write what is in it alone
z = zeros(3)\nz[0] = 1.|5:4|write y = set_subtensor\(z\[i\], v\), or inc_subtensor to add
z = x\nprint(z)|5:8|as in y = print\(\.\.\.\)
z = sum(x)\nz.backward()|5:4|a line gives a name to a value, as in y = z\.f\(
z = a = x|4:9|a line has one `=`
z = x[x > 0] = 0|4:16|a line has one `=`
(z, a) = (x, x)|4:3|several names stand without brackets: a, b = \.\.\.
[z, a] = [x, x]|4:3|several names stand without brackets
f = lambda a, b=2: a * b\nz = f(x)|4:18|parameters have no defaults
z = where(x not in [1], 0, 1)|4:15|write ~isin\(x, values\)
z = x in [1, 2]|4:9|or isin\(x, values\)
z = x > 0 & x < 1|4:11|brackets: \(a > 0\) & \(b < 1\)
z = x[n / 2]|4:9|divides integers: x\[n // 2\]
z, updates = scan(lambda r, c: c + r, x, 0.)|4:16|scan gives its results alone: there are no updates
z = cross_entropy(y, m)|4:21|write cross_entropy\(scores, labels\)
z = nll_loss(y, m)|4:16|takes the scores first
z = x + normal(0, 0.1, n, rng=rng(1))|4:11|a draw with rng= is a pair
z = x + rng(1).normal(0, 1, n)|4:11|normal takes the state of a random stream as rng=
z = uniform(rng(1), (3,), seed=1)|4:15|write state, y = uniform\(\.\.\., rng=r\)
z: Tensor = x|4:6|write float64\[n, m\]
END
}
