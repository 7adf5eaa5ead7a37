# The examples of a manual, one file each in the order of the page: NN.file (its name is what the text before it ends with, in
# backquotes; so has NN.script), NN.part (sections of a graph file), NN.session (`$ command`, what it prints), NN.values (`expression -> value`),
# NN.types (`expression : type`), NN.bats (tests, or how they load the library). Anything else is NN.unknown.
function end_block(   name, kind, i) {
    if (!n) return
    name = ""
    if (line[1] ~ /^(thunkline: 1|\{"thunkline")/) kind = "file"
    else if (line[1] ~ /^\$ /) kind = "session"
    else if (line[1] ~ /^#!/) kind = "script"
    else if (line[1] ~ / -> /) kind = "values"
    else if (line[1] ~ / : [a-z0-9]+$/) kind = "types"
    else if (line[1] ~ /^(inputs|shared|let|functions|outputs|updates|compare):/) kind = "part"
    else if (line[1] ~ /^(@test|load) /) kind = "bats"
    else kind = "unknown"
    name = sprintf("%s/%02d.%s", folder, ++count, kind)
    if (kind == "file") {
        while (match(before, /`[^` ]*\.(yaml|json)`/)) { called = substr(before, RSTART + 1, RLENGTH - 2); before = substr(before, RSTART + RLENGTH) }
        print called > name
    }
    if (kind == "script") {
        while (match(before, /`[^` ]*\.sh`/)) { called = substr(before, RSTART + 1, RLENGTH - 2); before = substr(before, RSTART + RLENGTH) }
        print called > name
    }
    if (kind == "part") print "thunkline: 1" > name
    for (i = 1; i <= n; i++) print line[i] > name
    close(name)
    n = 0
    before = ""
}
/^    / { for (; blank && n; blank--) line[++n] = ""; line[++n] = substr($0, 5); blank = 0; next }
/^$/ { blank++; next }
{ end_block(); blank = 0; before = before " " $0 }
END { end_block() }
