"""Writes ml/: models of the domain ai.onnx.ml: estimators that scikit-learn 1.2 fitted, converted here by hand, and single ops.
ml.npz has for each its inputs (`some` for most) and results as MODEL.NAME: those of scikit-learn, or of ONNX Runtime (NODE_PATH) where it has no
such thing. Both are compared here."""
import glob, subprocess
import numpy as np, onnx, runtime
from onnx import TensorProto as T, helper as h, numpy_helper as nh
from scipy.stats import norm
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

rng = np.random.default_rng(5)
X = rng.normal(size=(90, 4)).astype(np.float32)
kinds = (X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=90) > 0.3).astype(int) + (X[:, 2] > 0.7)
target = X[:, 0] * 2 - X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=90)
some = np.concatenate([X[:9], rng.normal(size=(6, 4)).astype(np.float32)])
golden = {}
value = h.make_tensor_value_info
ELEMENTS = {np.dtype("float32"): T.FLOAT, np.dtype("int64"): T.INT64, np.dtype("float64"): T.DOUBLE, np.dtype("bool"): T.BOOL}


def ml(op, inputs, outputs, **attributes):
    return h.make_node(op, inputs, outputs, domain="ai.onnx.ml", **attributes)


def save(name, nodes, feeds, outputs, want=None, init=(), strip=0, rtol=1e-4, atol=1e-5):
    """outputs: {name: dims}, or names of one dim more for texts; strip: so many last nodes ONNX Runtime needn't run."""
    def make(nodes):
        made = [o for n in nodes for o in n.output]
        g = h.make_graph(nodes, name, [value(k, ELEMENTS[v.dtype], ["n", *v.shape[1:]]) for k, v in feeds.items()],
                         [value(k, t, None) for k, t in outputs.items() if k in made], [nh.from_array(v, k) for k, v in dict(init).items()])
        return h.make_model(g, opset_imports=[h.make_opsetid("", 15), h.make_opsetid("ai.onnx.ml", 3)], ir_version=8)

    m = make(nodes)
    onnx.save(m, f"ml/{name}.onnx")
    got = runtime.run(make(nodes[:len(nodes) - strip]), feeds)
    want = want or {k: v for k, v in got.items()}
    for k, v in got.items():
        if k in want and v.dtype.kind != "U" and not np.allclose(v, np.asarray(want[k]).reshape(v.shape), rtol=rtol, atol=atol, equal_nan=True):
            print(name, k, "differs from ONNX Runtime by", np.max(np.abs(v - np.asarray(want[k]).reshape(v.shape))))
    for k, v in {**feeds, **want}.items():
        v = np.asarray(v)
        if v is some:
            golden["some"] = v
            continue
        golden[f"{name}.{k}"] = v.astype(np.float32) if v.dtype == np.float64 and k not in feeds else v


def trees(estimators, weights, ids):
    """Attributes of the trees of scikit-learn; weights(tree, node) are those of a leaf, for the outputs ids."""
    a = {k: [] for k in "treeids nodeids featureids modes values truenodeids falsenodeids".split()}
    w = {k: [] for k in "treeids nodeids ids weights".split()}
    for t, e in enumerate(estimators):
        e = e.tree_
        for i in range(e.node_count):
            leaf = e.children_left[i] < 0
            for k, v in zip(a, (t, i, 0 if leaf else e.feature[i], "LEAF" if leaf else "BRANCH_LEQ", 0 if leaf else e.threshold[i],
                                0 if leaf else e.children_left[i], 0 if leaf else e.children_right[i])):
                a[k].append(v)
            for k, v in zip(ids, weights(e, i)) if leaf else ():
                for key, x in zip(w, (t, i, k, v)):
                    w[key].append(x)
    return {f"nodes_{k}": v for k, v in a.items()}, w


def named(prefix, w):
    return {f"{prefix}_{k}": v for k, v in w.items()}


# linear
scaler = StandardScaler().fit(X)
logistic = LogisticRegression().fit(scaler.transform(X), kinds)
save("logistic", [ml("Scaler", ["x"], ["s"], offset=scaler.mean_, scale=1 / scaler.scale_),
                  ml("LinearClassifier", ["s"], ["label", "p"], coefficients=logistic.coef_.ravel(), intercepts=logistic.intercept_,
                     classlabels_strings=["red", "green", "blue"], post_transform="SOFTMAX"),
                  ml("ZipMap", ["p"], ["scores"], classlabels_strings=["red", "green", "blue"])],
     {"x": some}, {"label": T.STRING, "scores": T.FLOAT, "p": T.FLOAT},
     {"label": logistic.predict(scaler.transform(some)), "scores": logistic.predict_proba(scaler.transform(some)),
      "p": logistic.predict_proba(scaler.transform(some))}, strip=1)
binary = LogisticRegression().fit(X, kinds > 0)
save("binary", [ml("LinearClassifier", ["x"], ["label", "p"], coefficients=np.concatenate([-binary.coef_, binary.coef_]).ravel(),
                   intercepts=np.concatenate([-binary.intercept_, binary.intercept_]), classlabels_ints=[-1, 1], post_transform="LOGISTIC")],
     {"x": some}, {"label": T.INT64, "p": T.FLOAT}, {"label": np.where(binary.predict(some), 1, -1), "p": binary.predict_proba(some)})
linear = LinearRegression().fit(X, np.stack([target, -target + X[:, 3]], 1))
save("linear", [ml("LinearRegressor", ["x"], ["y"], coefficients=linear.coef_.ravel(), intercepts=linear.intercept_, targets=2)],
     {"x": some}, {"y": T.FLOAT}, {"y": linear.predict(some)})

# trees
forest = RandomForestClassifier(5, max_depth=4, random_state=0).fit(X, kinds)
a, w = trees(forest.estimators_, lambda e, i: e.value[i, 0] / e.value[i].sum() / 5, range(3))
save("forest", [ml("TreeEnsembleClassifier", ["x"], ["label", "p"], classlabels_int64s=[0, 1, 2], post_transform="NONE", **a, **named("class", w))],
     {"x": some}, {"label": T.INT64, "p": T.FLOAT}, {"label": forest.predict(some), "p": forest.predict_proba(some)})
boost = GradientBoostingClassifier(n_estimators=6, max_depth=3, random_state=0).fit(X, kinds > 0)
prior = np.log(np.mean(kinds > 0) / np.mean(kinds == 0))
a, w = trees(boost.estimators_[:, 0], lambda e, i: [e.value[i, 0, 0] * 0.1], [0])
save("boosted", [ml("TreeEnsembleClassifier", ["x"], ["label", "p"], base_values=[prior], classlabels_int64s=[3, 7], post_transform="LOGISTIC", **a,
                    **named("class", w))],
     {"x": some}, {"label": T.INT64, "p": T.FLOAT}, {"label": np.where(boost.predict(some), 7, 3), "p": boost.predict_proba(some)})
boost = GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0, init="zero").fit(X, kinds)
a, w = trees(boost.estimators_.ravel(), lambda e, i: [e.value[i, 0, 0] * 0.1], [0])
w["ids"] = [t % 3 for t in w["treeids"]]
save("boosted3", [ml("TreeEnsembleClassifier", ["x"], ["label", "p"], classlabels_int64s=[0, 1, 2], post_transform="SOFTMAX", **a, **named("class", w))],
     {"x": some}, {"label": T.INT64, "p": T.FLOAT}, {"label": boost.predict(some), "p": boost.predict_proba(some)})
many = RandomForestRegressor(4, max_depth=4, random_state=0).fit(X, np.stack([target, X[:, 1]], 1))
a, w = trees(many.estimators_, lambda e, i: e.value[i, :, 0], range(2))
save("regression", [ml("TreeEnsembleRegressor", ["x"], ["y"], n_targets=2, aggregate_function="AVERAGE", **a, **named("target", w))],
     {"x": some}, {"y": T.FLOAT}, {"y": many.predict(some)})
steps = GradientBoostingRegressor(n_estimators=5, max_depth=2, random_state=0).fit(X, target)
a, w = trees(steps.estimators_[:, 0], lambda e, i: [e.value[i, 0, 0] * 0.1], [0])
save("steps", [ml("TreeEnsembleRegressor", ["x"], ["y"], n_targets=1, base_values=[target.mean()], **a, **named("target", w))],
     {"x": some}, {"y": T.FLOAT}, {"y": steps.predict(some)[:, None]})
# all modes, nan, ties; the smallest and the largest of trees, of which one says nothing of the second target
modes = "BRANCH_LEQ BRANCH_LT BRANCH_GTE BRANCH_GT BRANCH_EQ BRANCH_NEQ".split()
line = dict(nodes_treeids=[t for t in range(12) for _ in range(3)], nodes_nodeids=[0, 1, 2] * 12, nodes_featureids=[0] * 36,
            nodes_modes=[m for t in range(12) for m in (modes[t % 6], "LEAF", "LEAF")], nodes_values=[0.5, 0, 0] * 12, nodes_truenodeids=[1, 0, 0] * 12,
            nodes_falsenodeids=[2, 0, 0] * 12, nodes_missing_value_tracks_true=[t // 6 for t in range(12) for _ in range(3)],
            target_treeids=[t for t in range(12) for _ in range(2)], target_nodeids=[1, 2] * 12, target_ids=[t for t in range(12) for _ in range(2)],
            target_weights=[float(v) for t in range(12) for v in (1, 0)])
ties = np.float32([[0.5], [0.49999997], [0.50000006], [np.nan], [np.inf], [-np.inf]])
save("modes", [ml("TreeEnsembleRegressor", ["x"], ["y"], n_targets=12, **line)], {"x": ties}, {"y": T.FLOAT})
few = dict(line, target_ids=[int(t > 3) for t in line["target_treeids"]], target_weights=[float(v) for v in range(24)])
save("least", [ml("TreeEnsembleRegressor", ["x"], ["y"], n_targets=2, aggregate_function="MIN", base_values=[1.0, 2.0], **few),
               ml("TreeEnsembleRegressor", ["x"], ["z"], n_targets=2, aggregate_function="MAX", post_transform="SOFTMAX", **few)],
     {"x": ties}, {"y": T.FLOAT, "z": T.FLOAT})


# support vectors
def machine(m):
    return dict(kernel_type=m.kernel.upper(), kernel_params=[float(m._gamma), float(m.coef0), float(m.degree)],
                support_vectors=m.support_vectors_.ravel())


def svc(name, labels, proba, **how):
    m = SVC(random_state=0, probability=proba, **how).fit(X, labels)
    more = dict(prob_a=m.probA_, prob_b=m.probB_) if proba else {}
    k = len(m.classes_)
    pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
    # scikit-learn turns the signs of two classes round
    sign = -1 if k == 2 else 1
    want = {"label": m.predict(some)}
    if proba:
        want["p"] = m.predict_proba(some)
    save(name, [ml("SVMClassifier", ["x"], ["label", "p"], classlabels_ints=m.classes_, coefficients=sign * m.dual_coef_.ravel(),
                   rho=sign * m.intercept_, vectors_per_class=m.n_support_, post_transform="NONE", **more, **machine(m))],
         {"x": some}, {"label": T.INT64, "p": T.FLOAT}, want, rtol=1e-3, atol=2e-4)
    if not proba:
        golden.update({f"{name}.p": runtime.run(onnx.load(f"ml/{name}.onnx"), {"x": some})["p"]})


svc("svc", kinds, False, kernel="rbf", gamma=0.4, decision_function_shape="ovo")
svc("svc_proba", kinds, True, kernel="poly", degree=2, coef0=1.0)
svc("svc_two", (kinds > 0).astype(int), False, kernel="sigmoid", gamma=0.1)
svc("svc_two_proba", (kinds > 0).astype(int), True, kernel="linear")
for name, m in {"svr": SVR(kernel="rbf", gamma=0.3).fit(X, target), "svr_poly": SVR(kernel="poly", degree=3, coef0=0.5).fit(X, target)}.items():
    save(name, [ml("SVMRegressor", ["x"], ["y"], coefficients=m.dual_coef_.ravel(), rho=m.intercept_, n_supports=len(m.support_), **machine(m))],
         {"x": some}, {"y": T.FLOAT}, {"y": m.predict(some)[:, None]}, rtol=1e-3, atol=1e-4)
one = OneClassSVM(gamma=0.5, nu=0.3).fit(X)
save("one_class", [ml("SVMRegressor", ["x"], ["y"], coefficients=one.dual_coef_.ravel(), rho=one.intercept_, n_supports=len(one.support_), one_class=1,
                      **machine(one))], {"x": some}, {"y": T.FLOAT}, {"y": one.predict(some)[:, None]})

# what comes before
holes = np.float32([[1, np.nan, 3], [np.nan, -5, 6], [0, 0, 0]])
whole = np.int64([[1, -1, 3], [4, 5, -1], [7, 1, 1]])
save("before", [ml("Imputer", ["h"], ["i"], imputed_value_floats=[10.0, 20.0, 30.0], replaced_value_float=float("nan")),
                ml("Imputer", ["w"], ["v"], imputed_value_int64s=[9], replaced_value_int64=-1),
                ml("Normalizer", ["i"], ["l1"], norm="L1"), ml("Normalizer", ["i"], ["l2"], norm="L2"), ml("Normalizer", ["i"], ["max"], norm="MAX"),
                ml("Binarizer", ["i"], ["b"], threshold=2.5), ml("OneHotEncoder", ["w"], ["hot"], cats_int64s=[1, 4, 7]),
                ml("LabelEncoder", ["w"], ["name"], keys_int64s=[7, 1, 3], values_floats=[0.5, 1.5, 2.5], default_float=-1.0),
                ml("LabelEncoder", ["h"], ["code"], keys_floats=[float("nan"), 3.0, 0.0], values_int64s=[1, 2, 3], default_int64=9),
                ml("ArrayFeatureExtractor", ["i", "at"], ["part"]), ml("FeatureVectorizer", ["i", "h"], ["both"], inputdimensions=[3, 3])],
     {"h": holes, "w": whole}, {k: T.FLOAT for k in "i l1 l2 max b hot name part both".split()} | {"v": T.INT64, "code": T.INT64},
     init={"at": np.int64([2, 0])})
# scores of one class and of several through each transform
for how in "NONE LOGISTIC SOFTMAX SOFTMAX_ZERO PROBIT".split():
    small = some[:4] / 8
    nodes = [ml("LinearClassifier", ["x"], ["label", "p"], coefficients=[0.1, 0.2, -0.3, 0.4], intercepts=[0.4], classlabels_ints=[0, 1], post_transform=how),
             ml("LinearClassifier", ["x"], ["label3", "p3"], coefficients=np.linspace(-0.4, 0.5, 12), intercepts=[0.4, 0.5, 0.3],
                classlabels_ints=[5, 6, 9], post_transform=how),
             ml("LinearRegressor", ["x"], ["y"], coefficients=np.linspace(-0.2, 0.3, 8), intercepts=[0.4, 0.5], targets=2, post_transform=how)]
    want = None
    if how == "PROBIT":  # ONNX Runtime approximates the quantile, and has none for one class
        nodes = nodes[1:]
        z = small @ np.linspace(-0.4, 0.5, 12).reshape(3, 4).T + [0.4, 0.5, 0.3]
        want = {"label3": np.int64([5, 6, 9])[z.argmax(1)], "p3": norm.ppf(z),
                "y": norm.ppf(small @ np.linspace(-0.2, 0.3, 8).reshape(2, 4).T + [0.4, 0.5])}
    save(f"post_{how.lower()}", nodes, {"x": small}, {o: T.INT64 if "label" in o else T.FLOAT for n in nodes for o in n.output}, want, rtol=1e-3, atol=1e-3)
# trees that are none
def broken(name, **attributes):
    node = ml("TreeEnsembleRegressor", ["x"], ["y"], n_targets=1, **attributes)
    g = h.make_graph([node], name, [value("x", T.FLOAT, ["n", 1])], [value("y", T.FLOAT, None)])
    onnx.save(h.make_model(g, opset_imports=[h.make_opsetid("", 15), h.make_opsetid("ai.onnx.ml", 3)], ir_version=8), f"ml/{name}.onnx")


stump = dict(nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2], nodes_featureids=[0, 0, 0], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
             nodes_values=[0.5, 0.0, 0.0], nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0], target_treeids=[0, 0], target_nodeids=[1, 2],
             target_ids=[0, 0], target_weights=[1.0, 2.0])
broken("diamond", **stump | dict(nodes_falsenodeids=[1, 0, 0]))
broken("nowhere", **stump | dict(nodes_truenodeids=[5, 0, 0]))
broken("member", **stump | dict(nodes_modes=["BRANCH_MEMBER", "LEAF", "LEAF"]))
broken("feature", **stump | dict(nodes_featureids=[3, 0, 0]))
np.savez_compressed("ml/ml.npz", **golden)
subprocess.run(["zstd", "-q", "-f", "-19", "--rm", *glob.glob("ml/*.onnx")], check=True)
