"""What is in a page: the data, checked, and questions that tests ask of it. usage: page.py QUESTION PAGE ..."""

import array
import base64
import hashlib
import json
import re
import sys

KINDS = {"u8": "B", "u16": "H", "u32": "I", "f32": "f", "f64": "d"}
NONE = 0xFFFFFFFF


def read(path):
    with open(path, encoding="utf-8", newline="") as f:
        return f.read()


def data_of(path):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', read(path), re.S).group(1))


def column(table, key, n):
    text = table[key] if isinstance(key, int) else table.get(key)
    if not text:
        return [0] * n
    kind, rest = text.split(":")
    numbers = array.array(KINDS[kind], base64.b64decode(rest))
    if sys.byteorder == "big":
        numbers.byteswap()
    assert len(numbers) == n or n is None, (key, len(numbers), n)
    return list(numbers)


def inputs(graph):
    """By Apply, its inputs."""
    nin = column(graph["apply"], "nin", graph["n"])
    flat = column(graph["apply"], "in", sum(nin))
    out, at = [], 0
    for k in nin:
        out.append(flat[at : at + k])
        at += k
    return out


def outputs(graph):
    first, n = (column(graph["apply"], k, graph["n"]) for k in ("out", "nout"))
    return [list(range(v, v + k)) for v, k in zip(first, n)]


def check_schema(page, schema):
    import jsonschema

    jsonschema.validate(data_of(page), json.loads(read(schema)))


def check_policy(page, *_):
    """The policy allows the script and the style of the page by their digests, and nothing from elsewhere."""
    text = read(page)
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text).group(1)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    for tag, name in (("script", "script-src"), ("style", "style-src")):
        body = re.search(r"<%s(?: type=\"module\")?>(.*?)</%s>" % (tag, tag), text, re.S).group(1)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert rules[name] == "'sha256-%s'" % digest, (name, rules[name], digest)
    assert rules["default-src"] == "'none'" and rules["base-uri"] == "'none'" and rules["form-action"] == "'none'"
    assert rules["worker-src"] == "blob:" and set(rules["img-src"].split()) == {"data:", "blob:"}
    assert len(rules) == 7, rules
    assert text.index("Content-Security-Policy") < text.index("<title>") < text.index("<script")
    assert len(re.findall("<script", text)) == len(re.findall("</script", text)) == 3
    assert not re.search(r'(src|href)="(?!#)', text), "something is loaded"


def check_nodes(page, nodes):
    """What the page says of the main graph and its functions is what --nodes says."""
    d, want = data_of(page), json.load(open(nodes))
    strings, types = d["strings"], d["types"]
    texts = column(types, "text", types["n"])
    for graph in d["graphs"]:
        name = strings[graph["name"]]
        w = want if graph["what"] == "main" else want["functions"][name]
        col = lambda key: column(graph["apply"], key, graph["n"])
        var = lambda key: column(graph["var"], key, graph["nvar"])
        assert [d["ops"][k]["name"] for k in col("op")] == [x["op"] for x in w["nodes"]]
        assert inputs(graph) == [x["inputs"] for x in w["nodes"]]
        assert outputs(graph) == [x["outputs"] for x in w["nodes"]]
        assert [k or None for k in col("line")] == [x["line"] for x in w["nodes"]]
        assert [strings[k] or None for k in var("name")] == [x["name"] for x in w["vars"]]
        assert [strings[texts[k]] for k in var("type")] == [x["type"] for x in w["vars"]]
        kinds = ["result", "input", "shared", "constant", "dim"]
        assert [kinds[k] for k in var("kind")] == [x["kind"] for x in w["vars"]]
        for text, x in zip(col("props"), w["nodes"]):
            for key in x["props"]:
                assert re.search(r"\b%s=" % key, strings[text]), (strings[text], x["props"])
        assert [[strings[s], v] for s, v in graph["outputs"]] == [[x["name"], x["var"]] for x in w["outputs"]]
        assert graph["updates"] == [[x["shared"], x["value"]] for x in w["updates"]]
        check_boxes(graph)
    bytes_of = column(types, "bytes", types["n"])
    for v, t in zip(want["vars"], column(d["graphs"][0]["var"], "type", d["graphs"][0]["nvar"])):
        assert v["bytes"] == (None if bytes_of[t] != bytes_of[t] else bytes_of[t]), v


def check_boxes(graph):
    """Every Apply and every leaf is in one box, which knows it; few children are seen in each."""
    box, n = graph["box"], graph["box"]["n"]
    first = column(box, "first", n + 1)
    item = column(box, "item", first[n])
    parent = column(box, "parent", n)
    apply_box, var_box = column(graph["apply"], "box", graph["n"]), column(graph["var"], "box", graph["nvar"])
    flags, var_flags = column(graph["apply"], "flags", graph["n"]), column(graph["var"], "flags", graph["nvar"])
    kind = column(graph["var"], "kind", graph["nvar"])
    seen = set()
    for b in range(n):
        shown = 0
        for x in item[first[b] : first[b + 1]]:
            assert x not in seen
            seen.add(x)
            sort, i = x & 3, x >> 2
            assert (apply_box, var_box, parent)[sort][i] == b
            shown += sort == 2 or not (flags, var_flags)[sort][i] & (1 | 2 * (sort == 0) | 16)
        assert shown <= 40, (b, shown)
        assert shown > 1 or b == 0, (b, shown)
    leaves = sum(k != 0 for k in kind)
    assert len(seen) == graph["n"] + leaves + n - 1


def check_profile(page, report):
    """Costs, totals and memory are those of -O json, of the same static profile; frames add up."""
    d, want = data_of(page), json.load(open(report))
    p = d["profile"]
    assert p["total"].keys() == want["total"].keys()
    for key in want["total"]:
        assert p["total"][key] == want["total"][key] or key.endswith("time_s"), key
    assert p["dims"] == want["dims"] and p["static"] == want["static"]
    names = {d["strings"][g["name"]] if k else None: k for k, g in enumerate(d["graphs"])}
    for row in want["apply"]:
        k = names[row["function"]]
        g, cost = d["graphs"][k], p["cost"][k]
        for key, field in (("calls", "calls"), ("flops", "flops"), ("math", "math_calls"), ("read", "read_bytes"), ("written", "written_bytes")):
            v = column(cost, key, g["n"])[row["apply"]]
            if isinstance(row[field], str):
                assert v != v and [row["apply"], key, row[field]] in cost["sym"], (row, v)
            else:
                assert v == row[field] or (v != v and row[field] is None), (row, key, v)
    m = p["memory"]
    assert column(m, "live", m["n"] + 1)[: m["n"]] == [x["live_bytes"] for x in want["memory"]]
    assert column(m, "step", m["n"]) == [x["apply"] for x in want["memory"]]
    assert [x[2] for x in m["holders"]] == [x["bytes"] for x in want["at_peak"]]
    store = m["store"]
    born, dies, size = (column(store, k, store["n"]) for k in ("born", "dies", "bytes"))
    for at, live in enumerate(column(m, "live", m["n"] + 1)):
        assert live == sum(s for b, e, s in zip(born, dies, size) if b <= at <= e and s == s), at
    f = p["flame"]
    up, value = column(f, "parent", f["n"]), column(f, "value", f["n"])
    for k in range(1, f["n"]):
        assert up[k] < k
        inside = sum(value[i] for i in range(k + 1, f["n"]) if up[i] == k)
        assert inside <= value[k] * (1 + 1e-9), k


def check_diff(page, *states):
    """Each Apply has a state; partners know each other. Prints how many of the left side have which."""
    d = data_of(page)
    count = [0] * 4
    for row in d["diff"]["pairs"]:
        a, b = d["graphs"][row[0]], d["graphs"][row[1]]
        pair, left, right = (column(row, k, n) for k, n in ((2, a["n"]), (3, a["n"]), (4, b["n"])))
        partners = [y for y in pair if y != NONE]
        assert len(set(partners)) == len(partners)
        assert sorted(partners) == [y for y in range(b["n"]) if right[y] != 3]
        for x, y in enumerate(pair):
            assert (left[x] == 3) == (y == NONE) and (y == NONE or left[x] == right[y])
            if left[x] == 0:
                assert d["ops"][column(a["apply"], "op", a["n"])[x]] == d["ops"][column(b["apply"], "op", b["n"])[y]]
            count[left[x]] += 1
    print(*count)


def needed(graph, to):
    """The Applies that outputs and updates need, where `to` says what is read instead of a variable."""
    ins, outs = inputs(graph), outputs(graph)
    maker = {v: a for a, out in enumerate(outs) for v in out}

    def end(v):
        while to.get(v, v) != v:
            v = to[v]
        return v

    todo, seen = [end(v) for pair in graph["outputs"] + graph["updates"] for v in pair[1:]], set()
    while todo:
        a = maker.get(todo.pop())
        if a is None or a in seen:
            continue
        seen.add(a)
        todo += [end(v) for v in ins[a]]
    return seen


def ops_needed(d, graph, to):
    op = column(graph["apply"], "op", graph["n"])
    return sorted(d["ops"][op[a]]["name"] for a in needed(graph, to))


def check_steps(page, *_):
    """After the steps of one epoch a graph is as the next one of the same name begins; after the last, as the result is.
    Prints the rules."""
    d = data_of(page)
    epochs = d["explain"]["epochs"]
    steps = d["explain"]["steps"]
    result = max(k for k, g in enumerate(d["graphs"]) if g["what"] == "main")
    last = {d["graphs"][number]["name"]: None for number in epochs}
    for e, number in enumerate(epochs):
        g, to = d["graphs"][number], {}
        born = column(g, "born", g["n"])
        begin = next(k for k, s in enumerate(steps) if s[0] == e)
        assert min(born) == begin
        begins = ops_needed(d, g, to)
        assert last[g["name"]] in (None, begins), (e, last[g["name"]], begins)
        for k, s in enumerate(steps):
            if s[0] != e:
                continue
            to.update(zip(s[4], s[5]))
            to[s[2]] = s[3]
            assert all(born[a] <= k + 1 for a in needed(g, to)), k
        last[g["name"]] = ops_needed(d, g, to)
    for g in d["graphs"][result:]:
        assert last.get(g["name"]) in (None, ops_needed(d, g, {})), (d["strings"][g["name"]], last[g["name"]])
    print(*(d["strings"][s[1]] for s in steps))


def check_run(page, *_):
    """Prints the curves, a call a line."""
    r = data_of(page)["run"]
    n = len(column(r, "calls", None))
    time = column(r, "time_s", n)
    assert all(0 <= a <= b <= r["seconds"] for a, b in zip(time, time[1:] + [r["seconds"]]))
    series = [column(s, "value", n) for s in r["series"]]
    print("call", *(s["name"] for s in r["series"]))
    for k, call in enumerate(column(r, "calls", n)):
        print("%g" % call, *("%.6g" % s[k] for s in series))


def ask(page, question):
    print(eval(question, {"d": data_of(page), "column": column, "text": read(page)}))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
