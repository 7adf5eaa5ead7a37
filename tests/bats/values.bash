# Tables of values that other systems worked out (tests/golden/*.py write them): family, call, inputs, result; tabs between.

# A graph of the rows of a family in a table of values, o1, o2 and so on, and in `want` grun's arguments, one a line.
family() { # table, family
    awk -F '\t' -v want="want" '
        $1 != "'"$2"'" { next }
        {
            for (i = split($3, input, "; "); i > 0; i--) if (!seen[input[i]]++) shared = shared "  " input[i] "\n"
            at = index($4, " = ")
            type = substr($4, 1, at - 1)
            let = let "  o" ++n ": " type " = " $2 "\n"
            outputs = outputs (n > 1 ? ", " : "") "o" n
            far = $1 ~ /^(fft|grid_sample)$/ ? 100 : 1 # sums of many numbers, which cancel
            compare = compare "  o" n ": rtol=" (type ~ /^float16/ ? "1e-3, atol=1e-3" : type ~ /^(float32|complex64)/ ? "1e-6, atol=" 1e-6 * far : "1e-12, atol=" 1e-15 * far) "\n"
            print "--expect\no" n "=" substr($4, at + 3) > want
        }
        END { print "thunkline: 1\nshared: |\n" shared "let: |\n" let "outputs: [" outputs "]\ncompare:\n" compare }' "$1"
}

# Computes all rows of a table and compares them.
families() { # table
    local name
    for name in $(cut -f 1 "$1" | sort -u); do
        family "$1" "$name" >g.yaml
        mapfile -t want <want
        grun g.yaml "${want[@]}" "${@:2}" >out 2>err || { head -n 20 err; false; }
    done
}
