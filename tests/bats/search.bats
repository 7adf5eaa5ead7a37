# grewrite --search: equal forms that only equality saturation finds, limits, and what stays as it is.
load common

# model INPUTS EXPR: m.tlg, whose output is the expression.
model() {
    local type t
    set -- "$1" "$2"
    IFS=';' read -ra type <<<"$1"
    local arg=()
    for t in "${type[@]}"; do arg+=(-i "$t"); done
    gload --new "${arg[@]}" -e "out = $2" --outputs out -o m.tlg
}

# flops FILE: as gprof counts them, with n = 1000 if there is one.
flops() {
    local n=()
    gload "$1" -O yaml | grep -q '\[n\]' && n=(--dim n=1000)
    gprof --static "${n[@]}" --format json "$1" | jq .total.flops
}

# values INPUTS: an operand for each, n being 5.
values() {
    local type t size
    IFS=';' read -ra type <<<"$1"
    for t in "${type[@]}"; do
        size=${t#*[}
        size=${size%]}
        size=${size//n/5}
        printf "'%s=reshape(sin(arange(float64(prod([%s])))), (%s,))' " "${t%%:*}" "$size" "$size"
    done
}

# finds: on standard input, inputs|expression|what FAST_RUN makes of it|what the search finds|flops of both. Both forms are
# written without fusion; the search's is verified and run under DEBUG.
finds() {
    local inputs expr plain found before after n
    while IFS='|' read -r inputs expr plain found before after; do
        model "$inputs" "$expr"
        n=$(awk -F';' '{ print NF + 1 }' <<<"$inputs")
        ok "grewrite m.tlg --exclude fusion --no-provenance -O math | tail -n +$n" "$(tr '~' '\n' <<<"$plain")" || return
        ok "grewrite m.tlg --search 60 --exclude fusion --no-provenance -O math | tail -n +$n" "$(tr '~' '\n' <<<"$found")" || return
        ok "grewrite m.tlg --exclude fusion -o plain.tlg" || return
        ok "grewrite m.tlg --search 60 --exclude fusion --verify 3 -o found.tlg" || return
        [ "$(flops plain.tlg) $(flops found.tlg)" = "$before $after" ] ||
            fail "$expr: $(flops plain.tlg) flops, then $(flops found.tlg)" || return
        ok "grun found.tlg --mode DEBUG $(values "$inputs")" || return
    done
}

@test "sums of products are factored, whatever their order" {
    finds <<'END'
x: float64[n];y: float64[n];z: float64[n];w: float64[n]|x * y + x * z + w * y + w * z|out = x * y + x * z + w * y + w * z|out = (y + z) * (x + w)|7000|3000
x: float64[n];y: float64[n];z: float64[n]|x * y - x * z + y * y - y * z|out = x * y - x * z + square(y) - y * z|out = (y - z) * (y + x)|7000|3000
x: float64[n];y: float64[n]|x * x + 2 * x * y + y * y|out = square(x) + 2.0 * x * y + square(y)|out = square(x + y)|6000|2000
END
}

@test "a polynomial becomes Horner's scheme" {
    finds <<'END'
x: float64[n];a: float64[n];b: float64[n];c: float64[n]|a*x*x*x + b*x*x + c*x|out = a * x * x * x + b * x * x + c * x|out = x * (x * (a * x + b) + c)|8000|5000
END
}

# Jia et al. 2019 (TASO), Yang et al. 2021 (TENSAT)
@test "products of matrices share a factor in both directions, and transposes move" {
    finds <<'END'
A: float64[20, 20];B: float64[20, 20];C: float64[20, 20];D: float64[20, 20]|A@C + A@D + B@C + B@D|out = gemm(gemm(A @ (C + D), B, C, 1.0, 1.0), B, D, 1.0, 1.0)|out = (A + B) @ (C + D)|50000|16800
A: float64[20, 20];B: float64[20, 20];C: float64[20, 20]|(A @ B).T + C @ A.T|out = gemm(transpose(A @ B), C, transpose(A), 1.0, 1.0)|out = (transpose(B) + C) @ transpose(A)|32800|16400
END
}

# Jia et al. 2019 (TASO): two products that share an operand become one of joined matrices
@test "joined products become one product" {
    finds <<'END'
A: float64[100, 100];B: float64[100, 100];C: float64[100, 100];D: float64[100, 100]|concatenate([A @ B + A @ D, A @ C], axis=1)|out = concatenate(A @ (B + D), A @ C, axis=1)|out = A @ concatenate(B + D, C, axis=1)|4010000|4010000
A: float64[100, 100];B: float64[100, 100];C: float64[100, 100]|concatenate([A @ B, C @ B]) - 1|out = concatenate(A @ B, C @ B) - 1.0|out = concatenate(A, C) @ B - 1.0|4020000|4020000
END
}

# Wang et al. 2020 (SPORES): sums over products, and the loss of a factorisation, whose product is never formed
@test "sums over products of matrices don't form the product" {
    finds <<'END'
A: float64[100, 2];B: float64[2, 100]|sum((A @ B)**2)|out = sum(square(A @ B))|out = sum(transpose(A) @ A * (B @ transpose(B)))|60000|1608
X: float64[100, 100];U: float64[100, 2];V: float64[100, 2]|sum(X * (U @ V.T))|out = sum(X * (U @ transpose(V)))|out = sum(X @ V * U)|60000|40400
END
    model 'X: float64[200, 300];u: float64[200, 1];v: float64[300, 1]' 'sum((X - u @ v.T)**2)'
    ok 'grewrite m.tlg -o plain.tlg'
    ok 'grewrite m.tlg --search 60 --verify 3 -o found.tlg'
    [ "$(flops plain.tlg)" = 300000 ]
    [ "$(flops found.tlg)" -lt 250000 ]
    gprof found.tlg --static --assert 'peak_bytes < 10e3'
    bad 1 E_VERDICT peak_bytes "gprof plain.tlg --static --assert 'peak_bytes < 10e3'"
}

@test "a sum in another order shares a part" {
    finds <<'END'
a: float64[n];b: float64[n];c: float64[n]|exp((a + b) + c) * (b + c)|out = exp(a + b + c) * (b + c)|_1 = b + c~out = exp(a + _1) * _1|5000|4000
END
}

@test "what is found runs as it did, under DEBUG and in a graph with updates, names and effects" {
    cat >m.yaml <<'END'
thunkline: 1
inputs:
  x: float64[4]
  y: float64[4]
  z: float64[4]
shared:
  total: float64[4] = zeros(4)
let: |
  seen = sow(x * y, tag="t", name="seen")
  sums = seen + x * z + y * y + y * z
  b = scan(lambda h: h * x + h * y, outputs_info=x, n_steps=3)[-1]
updates:
  total: total * x + total * y
outputs: [sums, b]
END
    ok 'grewrite m.yaml --search 10 --verify 3 -o found.tlg'
    values='x=[1,2,3,4] y=[2,0,1,5] z=[1,1,2,2]'
    ok "grun m.yaml --mode FAST_COMPILE $values" "$(grun found.tlg --mode DEBUG $values)"
    like 'grewrite found.tlg --mode NONE -O math' 'total' 'sow'
}

@test "a search that ends by itself has found all: a class for each set of the terms of a sum" {
    local n inputs sum classes
    for n in 3 6 8; do
        inputs='x1: float64[n]' sum=x1
        for ((i = 2; i <= n; i++)); do
            inputs+=";x$i: float64[n]"
            sum+=" + x$i"
        done
        model "$inputs" "$sum"
        grewrite m.tlg --mode NONE --include add-associates --search 600 --search-nodes 1000000 --profile -o found.tlg 2>err
        classes=$((2 ** n - 1))
        grep -Eq "^search: [0-9]+ terms in $classes classes after [0-9]+ rounds, saturated" err || fail "$(cat err)" || return
    done
}

@test "a search that the time doesn't end gives the same graph every time" {
    model 'X: float64[20, 30];U: float64[20, 2];V: float64[30, 2]' 'sum((X - U @ V.T)**2)'
    grewrite m.tlg --search 60 --search-nodes 700 --no-provenance -o first.tlg
    for _ in 1 2 3; do
        grewrite m.tlg --search 60 --search-nodes 700 --no-provenance -o again.tlg
        cmp first.tlg again.tlg
    done
}

@test "a search without room or time ends with the graph as it is rewritten without one" {
    model 'x: float64[n];y: float64[n];z: float64[n];w: float64[n]' 'x * y + x * z + w * y + w * z'
    grewrite m.tlg --no-provenance -o plain.tlg
    for o in '--search 1ms --search-nodes 1' '--search 60 --search-nodes 1' '--search 60 --search-nodes 8' '--search 60 --max-memory 4K'; do
        ok "grewrite m.tlg $o --no-provenance -o found.tlg"
        ok 'grewrite plain.tlg --diff found.tlg' || return
    done
}

@test "--dim decides which form is cheaper" {
    model 'A: float64[n, k];B: float64[k, n];C: float64[n, n]' '(A @ B) @ C + C'
    ok 'grewrite m.tlg --search 60 --dim n=1000 --dim k=2 --exclude algebra,product-order --include matmul-associates --no-provenance -O math | tail -n 1' 'out = A @ B @ C + C'
    model 'x: float64[n, 1];y: float64[1, m];z: float64[n, m]' 'sum((x @ y) * z)'
    ok 'grewrite m.tlg --search 60 --dim n=3 --dim m=2000 --verify 2 -o found.tlg'
}

# steps INPUTS: err has the steps of an explanation of m.tlg; each becomes two outputs of a graph, whose values must agree.
steps() {
    local type arg=() n=0 line before after
    IFS=';' read -ra type <<<"$1"
    for t in "${type[@]}"; do arg+=(-i "$t"); done
    while IFS= read -r line; do
        line=${line#search *: }
        before=${line%%  [<=][=>]  *}
        after=${line##*  [<=][=>]  }
        [ "$before" != "$after" ] || fail "nothing changes: $line" || return
        ok "gload --new ${arg[*]@Q} -e 'off = sum(abs(($before) - ($after))) / sum(abs($before))' --outputs off -o step.tlg" || return
        awk '{ exit !(NF == 1 && $1 + 0 < 1e-9) }' <<<"$(eval "grun step.tlg $(values "$1")" | grep -Eo '[-+.0-9e]+$')" || fail "$line" || return
        n=$((n + 1))
    done < <(grep '^search [a-z-]*: ' err)
    [ "$n" -ge "$2" ] || fail "$n steps"
}

@test "--explain prints the rules between the old and the new form in their order, also inside subterms, each once" {
    model 'x: float64[n];y: float64[n];z: float64[n];w: float64[n]' 'x * y + x * z + w * y + w * z'
    grewrite m.tlg --search 60 --exclude fusion --explain -o found.tlg 2>err
    [ "$(grep '^search ' err)" = 'search add-associates: x * y + x * z + w * y + w * z  =>  x * y + x * z + (w * y + w * z)
search distributes: x * y + x * z  =>  x * (y + z)
search distributes: w * y + w * z  =>  w * (y + z)
search distributes: (y + z) * x + (y + z) * w  =>  (y + z) * (x + w)' ]
    model 'X: float64[200, 300];U: float64[200, 2];V: float64[300, 2]' 'sum((X - U @ V.T)**2)'
    grewrite m.tlg --search 60 --explain -o found.tlg 2>err
    grep '^search [a-z-]*: ' err >lines
    grep -q '^search inner-of-product: sum(X \* (U @ transpose(V)))  =>' lines
    [ "$(sort lines | uniq -d)" = '' ]
}

@test "each step of an explanation can be checked by itself" {
    while IFS='|' read -r inputs expr least; do
        model "$inputs" "$expr"
        grewrite m.tlg --search 60 --explain -o found.tlg 2>err
        steps "$inputs" "$least" || return
    done <<'END'
x: float64[5];y: float64[5];z: float64[5];w: float64[5]|x * y + x * z + w * y + w * z|4
x: float64[5];a: float64[5];b: float64[5];c: float64[5]|a*x*x*x + b*x*x + c*x|3
X: float64[20, 30];U: float64[20, 2];V: float64[30, 2]|sum((X - U @ V.T)**2)|9
A: float64[20, 20];B: float64[20, 20];C: float64[20, 20];D: float64[20, 20]|A@C + A@D + B@C + B@D|3
END
}

@test "names don't hide what a rule read" {
    printf '%s\n' 'thunkline: 1' 'inputs:' '  x: float64[n]' '  y: float64[n]' '  z: float64[n]' 'let: |' '  first = x * y' \
        '  second = x * z' '  both = first + second' '  out = exp(both)' 'outputs: [out]' >m.yaml
    grewrite m.yaml --search 60 --exclude fusion --explain -o found.tlg 2>err
    [ "$(grep '^search ' err)" = 'search distributes: x * y + x * z  =>  x * (y + z)' ]
}

@test "what is too long for a line of an explanation has a name, which is explained" {
    local big=x i
    for i in 1 2 3 4 5 6 7 8 9; do big="exp($big * y + $i.25)"; done
    model 'x: float64[n];y: float64[n]' "$big * x + $big * y"
    grewrite m.tlg --search 60 --exclude fusion --explain -o found.tlg 2>err
    line=$(grep -E '^search distributes: .*=>' err)
    name=$(grep -o '_[0-9]*' <<<"$line" | head -n 1)
    grep -Fq "search where $name = exp(" err
}

@test "--exclude leaves out rules of the search, --explain says how it ended" {
    model 'x: float64[n];y: float64[n];z: float64[n]' 'x * y + x * z'
    ok 'grewrite m.tlg --search 60 --exclude fusion --no-provenance -O math | tail -n 1' 'out = x * (y + z)'
    ok 'grewrite m.tlg --search 60 --exclude fusion,distributes --no-provenance -O math | tail -n 1' 'out = x * y + x * z'
    ok 'grewrite m.tlg --search 60 --exclude fusion,algebra --no-provenance -O math | tail -n 1' 'out = x * y + x * z'
    ok 'grewrite m.tlg --search 60 --mode STABILIZE --no-provenance -O math | tail -n 1' 'out = x * y + x * z'
    grewrite m.tlg --search 60 --explain -o found.tlg 2>err
    [ "$(grep -c '^search ' err)" = 1 ]
    grep -Eq '^search: [0-9]+ terms in [0-9]+ classes after [0-9]+ rounds, saturated; cost' err
}

@test "a user's rule may hold in both directions, if only a search uses it" {
    model 'x: float64[n]' '(1 + tanh(0.5 * x)) / 2'
    echo 'halves @search: sigmoid(x) <=> (1 + tanh(0.5 * x)) / 2' >r.rules
    ok 'grewrite m.tlg --rules r.rules --search 60 --verify 3 --exclude fusion --no-provenance -O math | tail -n 1' 'out = sigmoid(x)'
    ok 'grewrite m.tlg --rules r.rules --exclude fusion --no-provenance -O math | tail -n 1' 'out = (1.0 + tanh(0.5 * x)) / 2.0'
    echo 'halves: sigmoid(x) <=> (1 + tanh(0.5 * x)) / 2' >bad.rules
    bad 3 E_REWRITE 'must have the tag @search' 'grewrite m.tlg --rules bad.rules -o x.tlg'
}

@test "ops of many outputs" {
    local all
    all=$(seq -s, -f 'v%g' 64)
    gload --new -i 'x: float64[64]' -e "$all = split(x, 64)" -e 'y = v1 * v2 + v1 * v64' --outputs y -o m.tlg
    ok 'grewrite m.tlg --search 60 --exclude fusion --verify 3 --no-provenance -O math | tail -n 1' 'y = v1 * (v2 + v64)'
}

@test "values that an option can't have are one usage error" {
    model 'x: float64[n]' 'x + x'
    while IFS='|' read -r options says; do
        bad 2 E_USAGE "$says" "grewrite m.tlg -o found.tlg $options" || return
    done <<'END'
--search -1|search
--search nan|search
--search soon|search
--search 1 --search-nodes -5|search-nodes
--search 1 --search-nodes 99999999999|search-nodes
--search-nodes 5|--search-nodes needs --search
--dim n=5|--dim needs --search
--search 1 --dim n|--dim takes NAME=SIZE
--search 1 --bisect true|--search doesn.t go with
--search 1 --why fold|--search doesn.t go with
--search 1 --reduce true|--search doesn.t go with
--search 1 --diff m.yaml|--search doesn.t go with
--search 1 --list|--search doesn.t go with
END
}

@test "a graph of 10,000 Applies is searched within its budget" {
    awk 'BEGIN {
        srand(7); print "thunkline: 1\ninputs:\n  t0: float64[n]\n  t1: float64[n]\nlet: |"
        split("+ * -", op, " ")
        for (i = 2; i < 10002; i++) {
            far = i < 40 ? i : 40
            e = i % 10 ? "t" (i - 1 - int(rand() * far)) " " op[1 + int(rand() * 3)] " t" (i - 1 - int(rand() * far)) : "tanh(t" i - 1 ")"
            print "  t" i " = " e
        }
        print "outputs: [t10001]"
    }' >m.yaml
    grewrite m.yaml --search 60 --search-nodes 60000 --explain -o found.tlg 2>err
    grep -Eq '^search: 6[0-9]{4} terms .* out of nodes' err
}

# sums N: m.yaml with N Applies, of which there are more forms than any search finds.
sums() {
    awk -v n="$1" 'BEGIN {
        srand(7); print "thunkline: 1\ninputs:\n  t0: float64[n]\n  t1: float64[n]\nlet: |"
        split("+ * -", op, " ")
        for (i = 2; i < n + 2; i++) {
            far = i < 40 ? i : 40
            print "  t" i " = t" (i - 1 - int(rand() * far)) " " op[1 + int(rand() * 3)] " t" (i - 1 - int(rand() * far))
        }
        print "outputs: [t" n + 1 "]"
    }' >m.yaml
}

@test "a search that would go on is ended by its time, its memory or a signal, and what was found is written" {
    sums 300
    grewrite m.yaml --search 300ms --search-nodes 100000000 --explain -o found.tlg 2>err
    grep -q '^search: .*, out of time; cost' err
    ok 'grewrite found.tlg --verify 2 -o /dev/null'
    grewrite m.yaml --search 600 --search-nodes 100000000 --max-memory 20M --profile -o found.tlg 2>err
    grep -q '^search: .*, out of memory; cost' err
    for signal in INT TERM; do
        rm -f found.tlg err
        env --default-signal=INT grewrite m.yaml --search 600 --search-nodes 100000000 --profile -v -o found.tlg 2>err &
        until grep -q 'the graph has' err; do sleep 0.05; done
        kill -s "$signal" $!
        wait $! || [ $? = $((128 + $(kill -l "$signal"))) ]
        grep -q '^search: .*, stopped; cost' err
        ok 'grewrite found.tlg --verify 2 -o /dev/null'
    done
}

@test "what --explain asks for does not change what is found" {
    sums 300
    for n in 3000 20000; do
        grewrite m.yaml --search 600 --search-nodes $n --no-provenance --profile -o plain.tlg 2>profile
        grewrite m.yaml --search 600 --search-nodes $n --no-provenance --explain -o found.tlg 2>err
        [ "$(grep '^search:' profile | cut -d ';' -f 1)" = "$(grep '^search:' err | cut -d ';' -f 1)" ]
        cmp plain.tlg found.tlg
    done
}
