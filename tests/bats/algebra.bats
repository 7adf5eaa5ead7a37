# What FAST_RUN makes of expressions that a mathematician would compute in another way: form and flops, the same results at
# random inputs, and every step checked by DEBUG. algebra.tsv has a row for each.
load common

# The declarations of a row as options of gload.
declare_inputs() { # inputs
    local t type
    IFS=';' read -ra type <<<"$1"
    for t in "${type[@]}"; do set -- "$@" -i "$t"; done
    declared=("${@:2}")
    named=${#type[@]}
}

# A size for each dim that has none.
sizes() { sed 's/\<n\>/6/g; s/\<m\>/5/g; s/\<k\>/4/g; s/?/6/g' <<<"$1"; }

# Files with numbers of every sign for the inputs: f.npy; `given` has the operands for grun.
make_values() { # inputs
    local t type name dtype shape size d exprs=() results=()
    given=()
    IFS=';' read -ra type <<<"$(sizes "$1")"
    for t in "${type[@]}"; do
        name=${t%%:*} name=${name// /} dtype=${t##*: } shape=${dtype#*[} dtype=${dtype%%[*}
        if [ "$shape" = "$dtype" ]; then
            given+=("$name=1")
            continue
        fi
        shape=${shape%]} size=1
        for d in ${shape//,/ }; do size=$((size * d)); done
        case $dtype in
        bool) exprs+=(-e "$name = reshape(sin(0.7 * arange($size) ** 2) > 0, [$shape])") ;;
        int*) exprs+=(-e "$name = reshape($dtype(2 * sin(0.7 * arange($size) ** 2)), [$shape])") ;;
        *) exprs+=(-e "$name = reshape($dtype(sin(0.7 * arange($size) ** 2 + ${#exprs[@]})), [$shape])") ;;
        esac
        results+=(-r "$name=$name.npy")
        given+=("$name=@$name.npy")
    done
    [ ${#exprs[@]} = 0 ] || gload "${exprs[@]}" | grun - "${results[@]}" >/dev/null
}

dims_of() { # inputs
    local d
    for d in n=6 m=5 k=4; do [[ $1 =~ [\[\ ]${d%=*}[],] ]] && printf ' --dim %s' "$d"; done
}

# The rows of a section of the table: inputs|expression|flops|form.
check_rows() { # section
    local inputs expr flops want got failed=0
    while IFS='|' read -r inputs expr flops want; do
        declare_inputs "$inputs"
        gload --new "${declared[@]}" -e "out = $expr" --outputs out -o m.tlg
        grewrite m.tlg --mode FAST_RUN --exclude fusion --verify 2 --no-provenance -o r.tlg
        got=$(grewrite r.tlg --mode NONE -O math | tail -n +$((named + 1)) | paste -sd ';' | sed 's/;/; /g')
        [ "$got" = "out = $want" ] || [ "$got" = "$want" ] || { echo "$expr: $got, not $want"; failed=1; }
        # shellcheck disable=SC2046
        got=$(gprof r.tlg --static $(dims_of "$inputs") -O json | sed -n 's/^ *"flops": \([0-9]*\),$/\1/p')
        [ "$got" = "$flops" ] || { echo "$expr: $got flops, not $flops"; failed=1; }
        make_values "$inputs"
        grun m.tlg --mode DEBUG "${given[@]}" >debug || { echo "$expr: DEBUG"; failed=1; }
    done < <(awk -v s="# $1" '/^#/ { in_it = $0 == s; next } in_it && NF' "$ROOT/tests/bats/algebra.tsv")
    [ $failed = 0 ]
}

@test "expressions whose best form is known" { check_rows 'best forms'; }
@test "reads are pushed to what is read" { check_rows reads; }
@test "what a read must still check, or others need, stays" { check_rows 'reads that stay'; }
@test "slices of slices" { check_rows slices; }
@test "sums and extremes of what is put together" { check_rows reductions; }
@test "products in the order that costs least, each once" { check_rows products; }

@test "without algebra sums and products keep their order" {
    local m
    gload --new -i 'A: float64[2, 3]' -i 'B: float64[3, 4]' -i 'v: float64[4]' -e 'out = sum(A @ B @ v) + (A @ B)[0, 1]' --outputs out -o m.tlg
    for m in '--mode STABILIZE' '--mode FAST_COMPILE' '--exclude algebra'; do
        ok "grewrite m.tlg $m --exclude fusion --no-provenance -O math | tail -n 2" $'_1 = A @ B\nout = sum(_1 @ v) + _1[0, 1]'
    done
}

@test "an index out of range and shapes that don't fit are still errors" {
    gload --new -i 'x: float64[?]' -i 'i: int64' -e 'exp(x)[i]' -o i.tlg
    bad 5 E_INDEX 'out of range' 'grun i.tlg x=[1,2] i=2'
    gload --new -i 'x: float64[?]' -i 'y: float64[?]' -e '(x + y)[0]' -o s.tlg
    bad 5 E_RUN_SHAPE '2.*3' 'grun s.tlg x=[1,2] y=[1,2,3]'
    gload --new -i 'x: float64[?, ?]' -i 'y: float64[?, ?]' -i 'v: float64[?]' -e 'a = sum((x @ y)[0])' -e 'b = (x @ y) @ v' -o p.tlg
    bad 5 E_RUN_SHAPE 'inner sizes' 'grun p.tlg "x=[[1,2]]" "y=[[1],[2],[3]]" v=[1]'
    bad 5 E_RUN_SHAPE 'inner sizes' 'grun p.tlg "x=[[1,2]]" "y=[[1],[2]]" v=[1,2]'
    gload --new -i 'x: float64[?]' -i 'i: int64' -e 'set_subtensor(x[i], 5.)[i]' -o w.tlg
    bad 5 E_INDEX 'out of range' 'grun w.tlg x=[1,2] i=2'
    gload --new -i 'x: float64[?]' -i 'y: float64[?]' -e 'tanh(stack([x, y])[1])' -o k.tlg
    bad 5 E_RUN_SHAPE 'stack: tensor 1' 'grun k.tlg x=[1,2] y=[1,2,3]'
}

@test "zeros of an identity no longer meet inf and nan, which DEBUG accepts" {
    gload --new -i 'A: float64[3, 2]' -e 'eye(3) @ A' -o m.tlg
    ok 'grun m.tlg --mode DEBUG --allow-nonfinite A=[[1,inf],[2,nan],[3,4]]' $'out = [[1.0, inf],\n       [2.0, nan],\n       [3.0, 4.0]]'
    ok 'grun m.tlg --exclude algebra A=[[1,inf],[2,0],[3,4]]' $'out = [[1.0, inf],\n       [2.0, nan],\n       [3.0, nan]]'
}
