# Makes one script of an ES module and all that it imports, each after what it needs. usage: awk -f bundle.awk DIR/main.js
# A module has its imports on lines of their own, `import {a, b} from './x.js';`, and exports only where it declares. All share
# one scope, so that no name may be declared twice. Comments on lines of their own stay out,
# and so does indentation: no text of a module goes over several lines.
function fail(text) { print text > "/dev/stderr"; failed = 1; exit 1 }
function declare(file, line,    name) {
    if (line !~ /^(async )?(function\*?|const|let|class) +[A-Za-z_$]/) return
    name = line
    sub(/^(async )?(function\*?|const|let|class) +/, "", name)
    sub(/[^A-Za-z0-9_$].*/, "", name)
    if (name in where) fail(file ": " name " is also in " where[name])
    where[name] = file
}
function module(file,    n, i, line, from, text, comment) {
    if (seen[file]++) return
    while ((getline line < file) > 0) text[++n] = line
    close(file)
    if (!n) fail(file ": nothing to read")
    for (i = 1; i <= n; i++) {
        if (text[i] !~ /^import /) continue
        if (text[i] !~ /^import \{[A-Za-z0-9_$, ]*\} from '\.\/[a-z0-9_]+\.js';$/) fail(file ": not a simple import: " text[i])
        from = text[i]
        sub(/.*'\.\//, "", from)
        sub(/';$/, "", from)
        module(dir from)
    }
    for (i = 1; i <= n; i++) {
        line = text[i]
        if (line ~ /<\/script|<!--/) fail(file ": " line)
        if (line ~ /^import /) continue
        if (line ~ /^ *\/\*/ && line !~ /\*\/ *[^ ]/) comment = 1
        if (comment) { if (line ~ /\*\//) comment = 0; continue }
        if (line ~ /^ *\/\// || line ~ /^ *$/) continue
        if (line ~ /^export +[*{d]/) fail(file ": exports only where it declares: " line)
        sub(/^export /, "", line)
        declare(file, line)
        sub(/^ +/, "", line)
        print line
    }
}
BEGIN {
    dir = ARGV[1]
    sub(/[^\/]*$/, "", dir)
    module(ARGV[1])
    exit failed
}
