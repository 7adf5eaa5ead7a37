# thunkline-ops(7) or thunkline-rules(7) in Markdown, from `TOOL --dump=ops` or `--dump=rules`; mdoc.awk makes the page.
# -v page=ops or rules.
BEGIN { FS = "\t" }
function cell(s) { gsub(/\|/, "\\|", s); return s }
# ---- ops: family, signature, text, other names, example ----
# A file of ops as text without a title of its own goes with its folder.
function family_title(f) { if (!(f in title)) sub("/.*", "", f); return f in title ? title[f] : f }
BEGIN {
    n = split("elemwise/arith=Arithmetic;elemwise/power=Arithmetic;elemwise/exp=Exponentials and logarithms;elemwise/trig=Trigonometry;" \
        "elemwise/compare=Comparisons;elemwise/bits=Bits and logic;elemwise/select=Choosing and rounding;elemwise/special=Special functions;" \
        "elemwise/complex=Complex numbers;elemwise/cast=Dtypes;lang=Part of the language;creation=Creating arrays;creation/windows=Windows of signals;shape=Shapes;index=Indexing;" \
        "reduce=Reductions;reduce/statistics=Statistics;sort=Sorting and searching;linalg=Linear algebra;fft=Fourier transforms;nn=Networks;nn/activations=Activation functions;" \
        "nn/normalisations=Normalisation;nn/losses=Losses;random=Random values;random/logpdf=Logarithms of densities;control=Loops, choices, effects;ad=Derivatives;" \
        "harvest=Sow, reap, plant;list=Lists and slices;ranks=Ranks and shards;sparse=Sparse matrices;" \
        "optimizers=Optimizers;wrappers=Wrappers of optimizers;schedules=Schedules", pair, ";")
    for (i = 1; i <= n; i++) { split(pair[i], p, "="); title[p[1]] = p[2]; if (!(p[2] in seen)) { seen[p[2]] = 1; order[++norder] = p[2] } }
}
page == "ops" {
    t = family_title($1)
    if (!(t in seen)) { seen[t] = 1; order[++norder] = t }
    text = $3
    if ($4 != "") text = text " Also called " $4 "."
    if ($5 != "") text = text " Example: `" $5 "`."
    rows[t] = rows[t] "| `" cell($2) "` | " cell(text) " |\n"
}
# ---- rules: kind, position, name, tags, text ----
page == "rules" {
    k = $1
    stages = ""
    nt = split($4, tag, " ")
    for (i = 1; i <= nt; i++) if (tag[i] !~ /^fast_(run|compile)$/) stages = stages " @" tag[i]
    if ($4 ~ /fast_compile/) stages = stages ", also in FAST_COMPILE"
    else if ($4 !~ /fast_run/) stages = stages ", only when asked for"
    rows[k] = rows[k] "| `" $3 "` | " (k == "rule" ? "`" cell($5) "`" : cell($5)) " " $2 stages " |\n"
}
END {
    if (page == "ops") {
        print "# thunkline-ops 7: the functions of the language\n\n## Description\n"
        print "These are the functions that expressions in graph files can call; thunkline(7) describes the language. A signature has the inputs,"
        print "then the parameters that must be known when the graph is made, with their kinds; `x?` and what has a value may be left out or be None, `*rest` takes any number. Inputs"
        print "without a kind are arrays, `any` takes any type. `gload --op NAME` says more about each: dtypes, cost, derivatives, memory.\n"
        print "The last three families are for `ggrad --optimizer` alone: rules that make updates of gradients, and schedules for their arguments.\n"
        for (i = 1; i <= norder; i++)
            if (rows[order[i]] != "") print "## " order[i] "\n\n| function | does |\n|---|---|\n" rows[order[i]]
        print "## See also\n\ngload(1), thunkline(7), thunkline-rules(7)"
    } else {
        print "# thunkline-rules 7: the rewrite rules and passes of grewrite\n\n## Description\n"
        print "grewrite(1) replaces what stands left of `=>` by what stands right of it, until nothing changes, and runs passes for what text cannot"
        print "say. Behind each stand its position, by which stages run one after the other, and its tags: the options `--include`, `--exclude` and"
        print "`--require` take names and tags. Rules without @fast keep the results up to rounding; @reassociate and @algebra may round and overflow in"
        print "another order. `--explain` shows each replacement, and `--rules FILE` adds rules of your own, a line each:\n"
        print "    log1p @stabilize: log(1 + x) => log1p(x) when float(x)\n"
        print "A name matches any expression, the same name twice equal expressions, a number a constant that equals it everywhere; `**p` matches all"
        print "parameters that are not mentioned. `when` lists what must be known.\n"
        print "## Rules\n\n| rule | replaces |\n|---|---|\n" rows["rule"]
        print "## Passes\n\n| pass | does |\n|---|---|\n" rows["pass"]
        print "## See also\n\ngrewrite(1), thunkline(7), thunkline-ops(7)"
    }
}
