# A manual page in mdoc from a text in a small Markdown: the first line is `# NAME SECTION: what it is`; `##` and `###` are
# headings; indented lines stand as they are; `- ` begins an item, `| term | text |` a row of a list; a blank line, a paragraph.
# In running text `...` is code and the name of a tool or page, as in grun(1), a reference.
NR == 1 {
    sub(/^# /, "")
    n = index($0, ": "); split(substr($0, 1, n - 1), title, " ")
    print ".Dd November 22, 2026\n.Dt " toupper(title[1]) " " title[2] "\n.Os thunkline\n.Sh NAME\n.Nm " title[1] "\n.Nd " substr($0, n + 2)
    fresh = 1
    next
}
# Text that mdoc takes as it is: each sentence begins a line.
function plain(s) {
    gsub(/\\/, "\\e", s)
    gsub(/--/, "\\-\\-", s)
    while (match(s, /[.?!][)]? +[A-Z"(]/)) s = substr(s, 1, RSTART) (substr(s, RSTART + 1, 1) == ")" ? ")" : "") "\n" substr(s, RSTART + RLENGTH - 1)
    gsub(/\n['.]/, "\n\\\\\\&&", s)
    return s
}
function literal(s) {
    gsub(/\\/, "\\e", s)
    gsub(/-/, "\\-", s)
    return s
}
# What is short stays on its line; a single character is no punctuation.
function quoted(s,   short) {
    short = length(s) <= 30
    s = (length(s) == 1 ? "\\&" : "") literal(s)
    gsub(/"/, "\\(dq", s)
    if (short) gsub(/ /, "\\ ", s)
    return "\"" s "\""
}
# A macro with what touches it: brackets before, punctuation behind; `rest` is the text that follows.
function put(macro, args,   end) {
    end = ""
    while (match(rest, /^[][.,;:!?)]/)) { end = end " " substr(rest, 1, 1); rest = substr(rest, 2) }
    print macro " " open_bracket args end (rest ~ /^[^ ]/ ? " Ns" : "")
    open_bracket = ""
    sub(/^ +/, "", rest)
}
function put_text(s) {
    open_bracket = ""
    if (s ~ /(^| )[(]$/) { open_bracket = "( "; s = substr(s, 1, length(s) - 1) }
    sub(/ +$/, "", s)
    s = plain(s)
    if (s ~ /^['.]/) s = "\\&" s
    if (s != "") print s
}
function inline(s,   at, n, code) {
    while (s != "") {
        if (!match(s, /`[^`]*`|((lib)?thunkline[a-z-]*|gload|ggrad|grewrite|grun|gprof)\([137]\)/)) { put_text(s); return }
        at = RSTART; n = RLENGTH
        code = substr(s, at, n)
        rest = substr(s, at + n)
        put_text(substr(s, 1, at - 1))
        if (code ~ /^`/)
            put(".Ql", quoted(substr(code, 2, n - 2)))
        else {
            n = index(code, "(")
            put(".Xr", substr(code, 1, n - 1) " " substr(code, n + 1, 1))
        }
        s = rest
    }
}
# What is open: a paragraph's text, a literal block, a list.
function flush_text() {
    if (text != "") inline(text)
    text = ""
}
function close_block() {
    flush_text()
    if (literal_block) print ".Ed"
    if (list != "") print ".El"
    literal_block = 0; blanks = ""; list = ""
}
function begin(kind) {
    if (list == kind) { flush_text(); return }
    close_block()
    list = kind
    print (kind == "item" ? ".Bl -bullet -compact" : ".Bl -tag -width Ds")
}
/^##/ {
    close_block()
    print ($1 == "##" ? ".Sh " toupper(substr($0, 4)) : ".Ss " substr($0, 5))
    fresh = 1
    next
}
/^$/ { if (literal_block) blanks = blanks "\n"; else flush_text(); gap = 1; next }
/^    / {
    if (list == "" || gap || literal_block) {
        if (!literal_block) { close_block(); print ".Bd -literal -offset indent" }
        literal_block = 1
        line = literal(substr($0, 5))
        print blanks (line ~ /^['.]/ ? "\\&" : "") line
        blanks = ""
        fresh = 0
        gap = 0
        next
    }
}
/^- / { begin("item"); print ".It"; text = substr($0, 3); fresh = gap = 0; next }
/^\|[ -]*---/ { next }
/^\| / {
    if (list != "term") { begin("term"); next } # the heading of the table
    n = index(substr($0, 3), " | ")
    term = substr($0, 3, n - 1)
    if (term == "") next
    flush_text()
    gsub(/`/, "", term); gsub(/\\\|/, "|", term)
    print ".It Li " quoted(term)
    text = substr($0, n + 5); sub(/ *\|$/, "", text); gsub(/\\\|/, "|", text)
    flush_text()
    fresh = gap = 0
    next
}
{
    if (gap && !fresh || literal_block || (list == "term")) {
        was = list != "" || literal_block
        close_block()
        print ".Pp"
    }
    sub(/^ +/, "")
    text = text (text == "" ? "" : " ") $0
    fresh = gap = 0
}
END { close_block() }
