# What is made from the option tables and the catalogue: help, manuals, completions, examples of ops.
load common

TOOLS='gload ggrad grewrite grun gprof'
BUILD=$(dirname "${TL_BIN:-$ROOT/build/bin}")

# The long options that --help shows.
long_options() { "$1" --help | grep -oE '^ {2}(-[a-zA-Z], | {4})--[a-zA-Z][a-zA-Z-]*' | grep -oE -- '--[a-zA-Z-]+'; }

@test "every op's examples give what they say" {
    gload --list-ops --all | cut -d' ' -f1 >ops
    [ "$(wc -l <ops)" -gt 100 ]
    local op line expr want n=0 exprs=() wants=()
    while read -r op; do
        gload --op "$op" >op.txt
        # an example may take several lines after "example"
        sed -n '/^example/,/^[a-z]* *$/p' op.txt | sed 's/^example *//' | grep -- ' -> ' >>examples || true
    done <ops
    # all in one graph: a process for each would take long
    while IFS= read -r line; do
        n=$((n + 1))
        expr=${line%% -> *} want=${line##* -> }
        # several outputs
        case $want in *'], ['*) case $want in '[['*) ;; *) expr="concatenate($expr)" want="concatenate([$want])" ;; esac ;; esac
        exprs+=(-e "e$n = $expr")
        wants+=(--expect "e$n=$want")
    done <examples
    [ "$n" -gt 100 ]
    gload "${exprs[@]}" -o all.tlg
    grun all.tlg "${wants[@]}" >out 2>err || { cat err >&2 && false; }
    grewrite all.tlg | grun "${wants[@]}" >out
}

@test "manuals have no warnings and every option" {
    command -v mandoc >/dev/null || skip 'no mandoc'
    local t o
    for t in $TOOLS; do
        [ -e "$BUILD/man/$t.1" ] || skip 'make man first'
        run mandoc -T lint -W warning "$BUILD/man/$t.1"
        [ -z "$output" ] || { echo "$output" >&2 && false; }
        mandoc -T utf8 "$BUILD/man/$t.1" | col -b >"$t.txt"
        for o in $(long_options "$t"); do
            grep -q -- "$o" "$t.txt" || { echo "$t.1 has no $o" >&2 && false; }
        done
        grep -q 'EXIT STATUS' "$t.txt"
        grep -q 'EXAMPLES' "$t.txt"
        if grep '@[A-Z_]*@' "$t.txt"; then false; fi
    done
}

@test "the pages of sections 3 and 7 have no warnings" {
    command -v mandoc >/dev/null || skip 'no mandoc'
    local page
    [ -e "$BUILD/man/thunkline.7" ] || skip 'make man first'
    for page in "$BUILD"/man/*.[37]; do
        run mandoc -T lint -W warning "$page"
        [ -z "$output" ] || { echo "$output" >&2 && false; }
        mandoc -T utf8 "$page" | col -b >page.txt
        grep -q '^SEE ALSO' page.txt
        # no source of the markup is left over, nor lost: a backquote, a bar of a table
        if grep -nE '`|^ *[|] .*[|]$|\\[-e]' page.txt; then false; fi
    done
    # every function and every rewrite is there, and nothing internal
    { gload --list-ops; gload --list-optimizers; } | cut -d' ' -f1 | sort -u >names
    sed -n 's/^\.It Li "\([a-zA-Z0-9_]*\)(.*/\1/p' "$BUILD/man/thunkline-ops.7" | sort -u | diff names -
    grewrite --list | awk '{ print $2 }' | sort >names
    sed -n 's/^\.It Li "\(.*\)"$/\1/p' "$BUILD/man/thunkline-rules.7" | sed 's/\\-/-/g' | sort | diff names -
    # what stands in backquotes and in tables arrives
    mandoc -T ascii "$BUILD/man/thunkline.7" | col -b >page.txt
    grep -qE '^[[:space:]]+\|[[:space:]]+bitwise_or; of bools, or$' page.txt
    grep -qE '^[[:space:]]+fold[lr]\(lambda x, a: 10 \* a \+ x, \[1, 2, 3\], 0\)[[:space:]]+-> 123$' page.txt
}

@test "completions have every option, parse, and complete" {
    local t o c=$BUILD/completions
    for t in $TOOLS; do
        [ -e "$c/$t.bash" ] || skip 'make generated first'
        bash -n "$c/$t.bash"
        for o in $(long_options "$t"); do
            grep -q -- "[' ]${o}[ ']" "$c/$t.bash" || { echo "$t.bash has no $o" >&2 && false; }
            grep -q -- "${o}\[" "$c/_$t" || { echo "_$t has no $o" >&2 && false; }
            grep -q -- "-l ${o#--} " "$c/$t.fish" || { echo "$t.fish has no $o" >&2 && false; }
        done
        if command -v zsh >/dev/null; then zsh -n "$c/_$t"; fi
        if command -v fish >/dev/null; then fish -n "$c/$t.fish"; fi
        (
            # shellcheck disable=SC1090
            . "$c/$t.bash"
            COMP_WORDS=("$t" --) COMP_CWORD=1
            "_$t"
            for o in $(long_options "$t"); do
                printf '%s\n' "${COMPREPLY[@]}" | grep -qx -- "$o"
            done
            COMP_WORDS=("$t" --errors j) COMP_CWORD=2
            "_$t"
            [ "${COMPREPLY[*]}" = json ]
            touch some.yaml
            COMP_WORDS=("$t" so) COMP_CWORD=1
            "_$t"
            [ "${COMPREPLY[*]}" = some.yaml ]
        )
    done
}

@test "--optimizer completes with the names that gload lists, beside ggrad" {
    [ -e "$BUILD/completions/ggrad.bash" ] || skip 'make generated first'
    ok "source '$BUILD/completions/ggrad.bash'; COMP_WORDS=(ggrad --optimizer adam); COMP_CWORD=2; _ggrad ggrad adam --optimizer; echo \${COMPREPLY[@]}" 'adam adamw'
}

@test "names of the graph on the command line, rules, ops and files after @ complete, in each shell" {
    local c=$BUILD/completions
    [ -e "$c/ggrad.bash" ] || skip 'make generated first'
    gload --new -i 'x: float64[3]' --shared 'w: float64 = 1' -e 'loss = sum(x * w)' -o m.tlg
    touch data.npy
    # shellcheck disable=SC2030,SC2031
    reply() { # WORD...: what bash offers
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
        "_$1" "$1"
        echo "${COMPREPLY[*]}"
    }
    . "$c/ggrad.bash"
    . "$c/grun.bash"
    . "$c/gload.bash"
    [ "$(reply ggrad m.tlg --wrt '')" = 'loss w x' ]
    [ "$(reply ggrad m.tlg --wrt w,x)" = 'w,x' ]
    [ "$(reply ggrad --wrt '')" = '' ]
    [ "$(reply gload m.tlg --set w)" = 'w=' ]
    [ "$(reply grun m.tlg x=@da)" = 'data.npy' ]
    [ "$(reply grun m.tlg lo)" = 'loss=' ]
    [ "$(reply grun --include fuse-)" = 'fuse-elementwise' ]
    [ "$(reply gload --op log1m)" = 'log1mexp' ]
    if command -v fish >/dev/null; then
        [ "$(fish -c "source '$c/ggrad.fish'; complete -C 'ggrad m.tlg --wrt w,'" | cut -f1 | tr '\n' ' ')" = 'w,loss w,w w,x ' ]
        [ "$(fish -c "source '$c/grun.fish'; complete -C 'grun m.tlg x=@da'")" = 'x=@data.npy' ]
        [ "$(fish -c "source '$c/grun.fish'; complete -C 'grun m.tlg los'")" = 'loss=' ]
        [ "$(fish -c "source '$c/grun.fish'; complete -C 'grun --mode F'" | tr '\n' ' ')" = 'FAST_COMPILE FAST_RUN ' ]
        [[ $(fish -c "source '$c/grun.fish'; complete -C 'grun --mod'") == --mode*'rewrite the graph first'* ]]
    fi
}

@test "the completions that are committed are those that are made" {
    local t
    for t in $TOOLS; do
        [ -e "$BUILD/completions/$t.bash" ] || skip 'make generated first'
        cmp "$ROOT/completions/$t.bash" "$BUILD/completions/$t.bash"
        cmp "$ROOT/completions/_$t" "$BUILD/completions/_$t"
        cmp "$ROOT/completions/$t.fish" "$BUILD/completions/$t.fish"
    done
}

@test "make install puts everything in place, under another prefix too" {
    install_build PROGRAM_PREFIX=t
    local t
    for t in $TOOLS; do
        [ -x "d/usr/bin/t$t" ]
        [ -s "d/usr/share/man/man1/t$t.1" ]
        [ -s "d/usr/share/bash-completion/completions/t$t" ]
        [ -s "d/usr/share/zsh/site-functions/_t$t" ]
        [ -s "d/usr/share/fish/vendor_completions.d/t$t.fish" ]
        grep -q "complete.* t$t\$" "d/usr/share/bash-completion/completions/t$t"
        "d/usr/bin/t$t" --help | grep -q "^usage: t$t "
    done
    PATH=$PWD/d/usr/bin:$PATH
    ok 'tgload -e "x ** 2" | tggrad | tgrewrite | tgrun x=3' $'out = 9.0\nd_out_d_x = 6.0'
    bad 2 E_USAGE '^tgrun: ' 'tgrun --nonsense'
    [ -e d/usr/lib/libthunkline.so ]
    [ -e d/usr/lib/pkgconfig/thunkline.pc ]
    cat >c.c <<'END'
#include <thunkline/thunkline.h>
int main(void) { return 0; }
END
    # what the manual names under FILES, and examples that run where they are
    local page
    for page in d/usr/share/man/man3/libthunkline.3 d/usr/share/man/man7/*.7; do [ -s "$page" ]; done
    grep -q 'tgrun' d/usr/share/man/man7/thunkline.7
    while read -r page; do [ -e "d/usr/$page" ] || fail "$page is not installed"; done < <(sed -n 's,^| `\(share/[^`]*\)`.*,\1,p' "$ROOT/lib/man/thunkline.md")
    like 'd/usr/share/thunkline/examples/logistic/run.sh' '^accuracy = 0\.8'
    if grep -q binutils d/usr/share/man/man1/tgprof.1; then false; fi
    grep -q ' /usr/share/thunkline/bats/thunkline.bash' d/usr/share/thunkline/bats/thunkline.bash
    local cc
    read -ra cc <<<"${CC:-cc}$(watched_by d/usr/lib/libthunkline.so)" # ccache gcc
    if command -v pkg-config >/dev/null; then
        [ "$(PKG_CONFIG_PATH=d/usr/lib/pkgconfig pkg-config --variable=libdir thunkline)" = /usr/lib ]
        # the paths are those of this installation, whatever one was made before
        make -s -C "$ROOT" B="${BUILD#"$ROOT"/}" AS_BUILT=1 install DESTDIR="$PWD/o" PREFIX=/opt LIBDIR=/opt/lib64 >log 2>&1
        [ "$(PKG_CONFIG_PATH=o/opt/lib64/pkgconfig pkg-config --cflags --libs thunkline)" = '-I/opt/include -L/opt/lib64 -lthunkline' ] ||
            [ "$(PKG_CONFIG_PATH=o/opt/lib64/pkgconfig pkg-config --cflags --libs thunkline)" = '-I/opt/include -L/opt/lib64 -lthunkline ' ]
    fi
    if [ -e d/usr/include/thunkline/thunkline.h ]; then "${cc[@]}" -Id/usr/include c.c -Ld/usr/lib -lthunkline -o c; fi
    touch d/usr/share/man/man1/other.1 d/usr/share/thunkline/examples/mine
    make -s -C "$ROOT" B="${BUILD#"$ROOT"/}" AS_BUILT=1 uninstall DESTDIR="$PWD/d" PREFIX=/usr PROGRAM_PREFIX=t >log 2>&1 || { cat log >&2 && false; }
    find d ! -type d | sort >left
    printf '%s\n' d/usr/share/man/man1/other.1 d/usr/share/thunkline/examples/mine | diff - left
}

@test "--help has groups, fits a terminal, and its examples run" {
    cat >model.yaml <<'END'
thunkline: 1
inputs:
  X: float64[n, 2]
  y: float64[n]
shared:
  W: float64[2] = [0.5, -0.5]
  b: float64 = 0.0
let: |
  e = X @ W + b - y
  loss = mean(e ** 2)
outputs: [loss]
END
    gload -e 'out = normal(0, 1, (9, 2), seed=1)' | grun -r out=x.npy
    gload -e 'out = normal(0, 1, 9, seed=2)' | grun -r out=y.npy
    local t line n
    for t in $TOOLS; do
        "$t" --help >help
        if grep '.\{81\}' help; then false; fi
        grep -E '^[A-Z][a-z]+:$' help >heads
        [ "$(wc -l <heads)" = 5 ]
        for line in Input: Output: Common: Examples:; do grep -qx "$line" heads; done
        n=0
        while read -r line; do
            command -v dot >/dev/null || [[ $line != *dot* ]] || continue
            shell "$line"
            [ "$status" = 0 ] || complain 'the example should run' "$line"
            n=$((n + 1))
        done < <(sed -n '/^Examples:/,/^$/s/^  //p' help)
        [ "$n" -ge 2 ]
        [ ! -e "$BUILD/man/$t.1" ] || [ "$(grep -c '^\.Ss \(Input\|Output\|Common\)$' "$BUILD/man/$t.1")" = 3 ]
    done
    # the name under which a tool is installed is the prefix of all
    ln -s "$(command -v grun)" tgrun
    ./tgrun --help | grep -q "^  tgload -e .* | tgrun x="
}

@test "the lists that manuals are made of: five fields a line, each function and rewrite once" {
    local name
    gload --dump=ops >ops
    awk -F'\t' 'NF != 5 || $1 == "" || $2 !~ /^[a-zA-Z0-9_]+\(.*\)/ || $3 == "" { print; bad = 1 } END { exit bad }' ops
    # as listed: macros of a name that is an op's too have two lines
    cut -f2 ops | sed 's/(.*//' | sort -u >names
    { gload --list-ops; gload --list-optimizers; } | cut -d' ' -f1 | sort -u | diff - names
    # the folder or the table that has it, its other names, and its first example
    for name in 'elemwise/exp|exp(x)' 'linalg|det(a)' 'ad|grad(cost' 'lang|array('; do
        cut -f1,2 ops | tr '\t' '|' | grep -qF "$name" || { echo "no $name" >&2 && false; }
    done
    [ "$(grep -P '^elemwise/exp\texp\(' ops | cut -f5)" = 'exp(0.) -> 1.0' ]
    [ "$(grep -P '\tsigmoid\(' ops | cut -f4)" = 'expit, logistic' ]
    # rewrites: kind, position, name, tags, text
    grewrite --dump=rules >rules
    awk -F'\t' 'NF != 5 || ($1 != "pass" && $1 != "rule") || $2 + 0 != $2 || $5 == "" { print; bad = 1 } END { exit bad }' rules
    cut -f3 rules | sort >names
    grewrite --list | awk '{ print $2 }' | sort | diff - names
    grep -qP '^pass\t0\tmerge\t' rules
    grep -qP '^rule\t[0-9.]+\tlog1p\t.*stabilize.*\tlog\(1 \+ x\) ' rules
    bad 2 E_USAGE "takes man, options, ops or rules, not 'x'" 'gload --dump=x'
}
