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
@test "slices of slices" { check_rows slices && check_rows 'slices that stay'; }
@test "writes to parts of parts, as in their gradients" { check_rows 'writes of parts' && check_rows 'writes of parts that stay'; }
@test "sums and extremes of what is put together" { check_rows reductions; }
@test "what is written into zeros and added up is joined, and in another order read" { check_rows 'writes into zeros'; }
@test "short vectors in rows become vectors" { check_rows 'short rows' && check_rows 'short rows that stay'; }
@test "the same of batches of matrices" { check_rows batches && check_rows 'batches that stay'; }
@test "products in the order that costs least, each once" { check_rows products; }

@test "a product is added in the same call, where that pays" { check_rows 'products that are added'; }
@test "whole sums and products" { check_rows 'sums and products' && check_rows 'sums and products that stay'; }

@test "what is known of matrices saves work" { check_rows structure; }
@test "what isn't known of matrices changes nothing" { check_rows 'structure that is not there'; }

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
    # also where nothing is read with it
    gload --new -i 'x: float64[?, ?]' -i 'i: int64[?]' -e 'a = exp(x)[i]' -e 'b = x[i]' -e 'c = x[:, i]' -o e.tlg
    for y in a b; do
        bad 5 E_INDEX 'index -5 is out of range for axis 0 of size 3' "grun e.tlg --outputs $y 'x=zeros((3, 0))' i=[-2,-5]"
        bad 5 E_INDEX 'index -5 is out of range for axis 0 of size 3' "grun e.tlg --mode FAST_COMPILE --outputs $y 'x=zeros((3, 0))' i=[-2,-5]"
    done
    bad 5 E_INDEX 'index 3 is out of range for axis 1 of size 3' "grun e.tlg --outputs c 'x=zeros((0, 3))' i=[2,3]"
    ok "grun e.tlg --outputs c 'x=zeros((0, 3))' i=[2,-3]" "c = zeros((0, 2), dtype='float64')"
    gload --new -i 'x: float64[?]' -i 'y: float64[?]' -e 'tanh(stack([x, y])[1])' -o k.tlg
    bad 5 E_RUN_SHAPE 'stack: tensor 1' 'grun k.tlg x=[1,2] y=[1,2,3]'
}

@test "zeros of an identity no longer meet inf and nan, which DEBUG accepts" {
    gload --new -i 'A: float64[3, 2]' -e 'eye(3) @ A' -o m.tlg
    ok 'grun m.tlg --mode DEBUG --allow-nonfinite A=[[1,inf],[2,nan],[3,4]]' $'out = [[1.0, inf],\n       [2.0, nan],\n       [3.0, 4.0]]'
    ok 'grun m.tlg --exclude algebra A=[[1,inf],[2,0],[3,4]]' $'out = [[1.0, inf],\n       [2.0, nan],\n       [3.0, nan]]'
}

@test "claims about matrices are trusted, and checked in DEBUG" {
    local kind good wrong why
    gload --new -i 'A: float64[?, ?]' -i 'v: float64[?]' -e "out = solve(assert_structure(A, kind='lower'), v)" --outputs out -o m.tlg
    ok 'grun m.tlg A=[[2,9],[1,4]] v=[2,9]' 'out = [1.0, 2.0]'
    ok 'grun m.tlg --mode DEBUG A=[[2,0],[1,4]] v=[2,9]' 'out = [1.0, 2.0]'
    bad 5 E_ASSERT 'assert_structure: x is declared to be lower, but x\[0, 1\] is 9.0: it must be 0' 'grun m.tlg --mode DEBUG A=[[2,9],[1,4]] v=[2,9]'
    while IFS='|' read -r kind good wrong why; do
        gload --new -i 'A: complex128[?, ?]' -e "out = real(assert_structure(A, kind='$kind'))[0, 0]" --outputs out -o k.tlg
        ok "grun k.tlg --mode DEBUG 'A=$good' | grep -c out" 1
        bad 5 E_ASSERT "declared to be $kind, but x\\[$why" "grun k.tlg --mode DEBUG 'A=$wrong'"
        ok "grun k.tlg 'A=$wrong' | grep -c out" 1
    done <<'E'
lower|[[1,0],[2,3]]|[[1,2],[2,3]]|0, 1\] is .*must be 0
upper|[[1,2],[0,3]]|[[1,2],[1,3]]|1, 0\] is .*must be 0
diagonal|[[1,0],[0,3]]|[[1,0],[0.5,3]]|1, 0\] is .*must be 0
symmetric|[[1,2j],[2j,3]]|[[1,2j],[-2j,3]]|1, 0\] is .*equal its mirror image
hermitian|[[1,2j],[-2j,3]]|[[1,2j],[2j,3]]|1, 0\] is .*conjugate of its mirror image
hermitian|[[1]]|[[1j]]|0, 0\] is .*conjugate of its mirror image
orthogonal|[[0,1j],[1,0]]|[[1,1],[0,1]]|0, 1\] is .*orthogonal to the others
orthonormal|[[0],[1j]]|[[0,0],[1,2]]|0, 1\] is .*orthogonal to the others
orthonormal|[[0],[1j]]|[[0],[2]]|0, 0\] is .*length 1
posdef|[[2,1j],[-1j,2]]|[[1,2],[2,1]]|1, 1\] is .*not positive definite
posdef|[[1]]|[[0]]|0, 0\] is .*not positive definite
semidefinite|[[1,1],[1,1]]|[[1,2],[2,1]]|1, 1\] is .*not positive semidefinite
semidefinite|[[0,0],[0,1]]|[[0,2],[2,1]]|1, 0\] is .*not positive semidefinite
semidefinite|[[0,0],[0,0]]|[[0,1e-9j],[-1e-9j,0]]|1, 0\] is .*not positive semidefinite
semidefinite|[[1,1j],[-1j,1]]|[[1,1j],[1j,1]]|1, 0\] is .*conjugate of its mirror image
E
    gload --new -i 'A: float64[?, ?]' -e "out = assert_structure(A, kind='orthonormal')" --outputs out -o o.tlg
    ok 'grun o.tlg --mode DEBUG "A=zeros((0, 0))"' "out = zeros((0, 0), dtype='float64')"
    bad 5 E_ASSERT 'declared to be orthonormal, but has columns of no rows' 'grun o.tlg --mode DEBUG "A=zeros((0, 2))"'
    gload --new -i 'A: float64[?, ?]' -e "out = assert_structure(A, kind='symmetric')" --outputs out -o s.tlg
    ok 'grun s.tlg --mode DEBUG --allow-nonfinite A=[[-inf,2],[2,inf]]' $'out = [[-inf, 2.0],\n       [2.0, inf]]'
    bad 5 E_ASSERT 'x\[1, 0\] is 3.0: it must equal its mirror image' 'grun s.tlg --mode DEBUG --allow-nonfinite A=[[inf,2],[3,inf]]'
    # of a stack, the first that contradicts; integers exactly, floats up to rounding
    gload --new -i 'A: int64[?, 2, 2]' -e "out = assert_structure(A, kind='symmetric')" --outputs out -o i.tlg
    bad 5 E_ASSERT 'x\[1, 1, 0\] is 4: it must equal its mirror image' 'grun i.tlg --mode DEBUG "A=[[[1,2],[2,1]],[[1,3],[4,1]],[[1,5],[6,1]]]"'
    gload --new -i 'A: float32[50, 40]' -e "out = sum(assert_structure(inv(A.T @ A + float32(1) * eye(40, dtype=float32)), kind='symmetric'))" --outputs out -o f.tlg
    gload -e 'A = float32(reshape(sin(arange(2000.) ** 2), [50, 40]))' | grun - -r A=f.npy
    ok 'grun f.tlg --mode DEBUG A=@f.npy | grep -c out' 1
    bad 3 E_ARG "there is no structure 'lowr': did you mean 'lower'" "gload -i 'A: float64[2, 2]' -e \"assert_structure(A, kind='lowr')\""
    bad 3 E_SHAPE 'assert_structure' "gload -i 'A: float64[2, 3]' -e \"assert_structure(A, kind='symmetric')\""
    bad 5 E_RUN_SHAPE 'declared to be symmetric, but its matrices have 1 rows and 2 columns' "gload -i 'A: float64[?, ?]' -e \"assert_structure(A, kind='symmetric')\" | grun --mode DEBUG A=[[1,2]]"
}

@test "claims go, and stay until nothing needs them" {
    gload --new -i 'A: float64[n, n]' -e "out = sin(assert_structure(A, kind='upper')) + 1" --outputs out -o m.tlg
    ok 'grewrite m.tlg --exclude fusion -O math | tail -n 1' 'out = sin(A) + 1.0'
    ok 'grewrite m.tlg --mode FAST_COMPILE -O math | tail -n 1' 'out = sin(A) + 1.0'
    ok 'grewrite m.tlg --mode NONE -O math | tail -n 1' "out = sin(assert_structure(A, kind='upper')) + 1.0"
    # no random matrix is what is claimed of it: nothing is compared
    bad 3 E_VALUE 'none of the 2 random runs' 'grewrite m.tlg --verify 2'
    ok 'grewrite m.tlg --verify 2 A=[[1,2],[0,3]] -O math --exclude fusion | tail -n 1' 'out = sin(A) + 1.0'
}

@test "systems of one matrix in the steps of a loop, and in those of its gradient, take one factorisation" {
    gload --new -i 'J: float64[n, n]' -i 'x: float64[n]' -i 'k: int64' -e 'y = scan(lambda u: solve(eye(n) - 0.1 * J, u), outputs_info=[x], n_steps=k)' \
        -e 'loss = sum(y[-1] ** 2)' --outputs loss -o loop.tlg
    ggrad loop.tlg --wrt x,J -o d.tlg
    ok 'grewrite d.tlg -o r.tlg'
    [ "$(gload r.tlg -O math --no-provenance | grep -c 'lu_factor(')" = 1 ]
    ! gload r.tlg -O math --no-provenance | grep -q '[^_]solve(' || fail 'a system is solved anew'
    ok 'grun d.tlg --mode FAST_COMPILE "J=normal(0,1,(4,4),seed=1)" x=[1,2,3,4] k=5 -r "*=slow.npz" && grun d.tlg "J=normal(0,1,(4,4),seed=1)" x=[1,2,3,4] k=5 --expect "loss=@slow.npz:loss" --expect "d_loss_d_x=@slow.npz:d_loss_d_x" --expect "d_loss_d_J=@slow.npz:d_loss_d_J" >/dev/null'
    # of a positive definite one it is Cholesky's, outside of the loop
    gload --new -i 'J: float64[n, n]' -i 'x: float64[n]' -i 'k: int64' -e 'y = scan(lambda u: solve(J @ J.T + eye(n), u, assume_a="pos"), outputs_info=[x], n_steps=k)' --outputs y -o pos.tlg
    ok 'grewrite pos.tlg -o r.tlg'
    ok 'gload r.tlg -O math --no-provenance | grep -A9 "^J:" | grep -c "cho_factor("' 1
    ! gload r.tlg -O math --no-provenance | grep -q '[^_]solve(' || fail 'a system is solved anew'
    ok 'grun pos.tlg --mode FAST_COMPILE "J=normal(0,1,(4,4),seed=1)" x=[1,2,3,4] k=5 -r "*=slow.npz" && grun pos.tlg "J=normal(0,1,(4,4),seed=1)" x=[1,2,3,4] k=5 --expect "y=@slow.npz:y" >/dev/null'
    bad 5 E_SINGULAR 'not positive definite' 'gload pos.tlg --dim n=2 -e "z = solve(J, x, assume_a=\"pos\") + solve(J, 2 * x, assume_a=\"pos\")" --outputs z | grun J=[[1,2],[2,1]] x=[1,2]'
    # a matrix that the steps change, and systems of two matrices, stay
    gload --new -i 'J: float64[n, n]' -i 'x: float64[n]' -e 'y = scan(lambda u: solve(J + outer(u, u), u), outputs_info=[x], n_steps=3)' --outputs y -o loop.tlg
    ok 'grewrite loop.tlg -O math --no-provenance | grep -c "[^_]solve("' 1
    # no step, no error
    gload --new -i 'J: float64[n, n]' -i 'x: float64[n]' -i 'k: int64' -e 'y = scan(lambda u: solve(J, u), outputs_info=[x], n_steps=k)' --outputs y -o loop.tlg
    ok 'grun loop.tlg J=[[1,2],[2,4]] x=[1,2] k=0' "y = zeros((0, 2), dtype='float64')"
    bad 5 E_SINGULAR singular 'grun loop.tlg J=[[1,2],[2,4]] x=[1,2] k=1'
}

@test "singular matrices stay errors where structure is known" {
    local e
    for e in 'solve(tril(A), v)' 'solve(diag(v), v)' 'solve(diag(v), A)' 'inv(diag(v))' 'inv(triu(A))' 'solve(A @ A.T, v)' 'inv(A @ A.T) @ v' 'solve(A, v) + solve(A.T, v)' 'det(inv(A)) + v'; do
        gload --new -i 'A: float64[n, n]' -i 'v: float64[n]' -e "out = $e + sum(A) + sum(v)" --outputs out -o s.tlg
        bad 5 E_ singular 'grun s.tlg A=[[1,2],[0,0]] v=[1,0]'
        bad 5 E_SINGULAR singular 'grun s.tlg --mode FAST_COMPILE A=[[1,2],[0,0]] v=[1,0]'
    done
    # what rounding has made indefinite is solved as any other matrix
    gload --new -i 'A: float64[n, n]' -i 'v: float64[n]' -e 's = solve(assert_structure(A, kind="semidefinite"), v)' --outputs s -o i.tlg
    ok 'grun i.tlg A=[[1,2],[2,1]] v=[3,3]' 's = [1.0, 1.0]'
    like 'grewrite i.tlg -O math' "assume_a='semi'"
}

@test "masks of triangles whose sizes are known, too" {
    local e want
    while IFS='|' read -r e want; do
        gload --new -i 'A: float64[120, 120]' -i 'B: float64[120, 120]' -e "r = $e" --outputs r -o t.tlg
        ok "grewrite t.tlg --verify 2 --exclude fusion -O math" >/dev/null
        assert_equal "$(grep -o 'triangular_matmul(.*' .out | grep -o 'lower=True\|right=True' | paste -sd ' ')" "${want#no}"
        assert_equal "$(grep -c triangular_matmul .out)" "$([ "$want" = no ] && echo 0 || echo 1)"
    done <<'END'
tril(A) @ B|lower=True
tril(A, k=-1) @ B|lower=True
triu(A) @ B|
B @ triu(A, k=2)|right=True
B @ tril(A)|lower=True right=True
tril(A, k=1) @ B|no
where(arange(120)[:, None] < arange(1, 121), B, 0.) @ A|
where(arange(120)[:, None] < arange(2, 122), B, 0.) @ A|no
END
}
