# Assertions on tensor graphs for bats tests; thunkline-bats(7) has recipes. In a test file:
#
#     load /usr/local/share/thunkline/bats/thunkline.bash
#     @test "the model gives what it gave" {
#         assert_result model.yaml loss=2.302585 x='zeros((2, 64))' y='[1, 2]'
#     }
#
# Each runs one of the tools. Where it fails, it prints what was expected, what came, the command, and the tool's own message,
# and returns the tool's status or 1. A refute_ holds only if the tool's verdict is no: it fails, too, if the file is missing or an option is
# wrong. They leave $output and $status alone, and need nothing but bats, and awk and diff for snapshots.

# assert_graph FILE: it reads, and its types are right.
assert_graph() { _thunkline_ends 0 "$1 is a graph without errors" gload --check -- "$1"; }

# refute_graph FILE [TEXT...]: the graph is refused, and each TEXT is in the message.
refute_graph() {
    local file=$1 said='' status=0 text
    shift
    said=$(gload --check -- "$file" 2>&1) || status=$?
    [ "$status" = 3 ] || _thunkline_fails "an error in $file" "status $status" "gload --check -- $file" "$said" "$status" || return
    for text; do
        [[ $said == *"$text"* ]] || _thunkline_fails "an error that says: $text" 'another error' "gload --check -- $file" "$said" || return
    done
}

# assert_result FILE NAME=EXPECTED [grun's operands and options...]: running gives approximately that output.
assert_result() { _thunkline_result 0 "$2" "$@"; }
refute_result() { _thunkline_result 1 "anything but $2" "$@"; }
_thunkline_result() {
    local status=$1 what=$2 file=$3 expected=$4
    shift 4
    _thunkline_ends "$status" "$what" grun --expect "$expected" "$@" -- "$file"
}

# assert_same_graph A B: equal up to names and the order of independent definitions in the file.
assert_same_graph() { _thunkline_ends 0 "$1 and $2 are the same graph" grewrite --diff "$2" -- "$1"; }
refute_same_graph() { _thunkline_ends 1 "$1 and $2 are different graphs" grewrite --diff "$2" -- "$1"; }

# assert_gradient FILE COST WRT [ggrad's NAME=VALUE and options...]: the gradient agrees with finite differences.
assert_gradient() { _thunkline_gradient 0 "the gradient of $2 by $3 agrees with finite differences" "$@"; }
refute_gradient() { _thunkline_gradient 1 "the gradient of $2 by $3 disagrees with finite differences" "$@"; }
_thunkline_gradient() {
    local status=$1 what=$2 file=$3 cost=$4 wrt=$5
    shift 5
    _thunkline_ends "$status" "$what" ggrad --check --cost "$cost" --wrt "$wrt" "$@" -- "$file"
}

# assert_rewrite FILE [grewrite's NAME=VALUE and options...]: rewriting changes no result, in three random runs.
assert_rewrite() { _thunkline_rewrite 0 "rewriting $1 changes no result" "$@"; }
refute_rewrite() { _thunkline_rewrite 1 "rewriting $1 changes a result" "$@"; }
_thunkline_rewrite() {
    local status=$1 what=$2 file=$3
    shift 3
    _thunkline_ends "$status" "$what" grewrite --verify 3 "$@" -o /dev/null -- "$file"
}

# assert_cost FILE ASSERTION [gprof's options and operands...]: for example 'peak_bytes < 1e6' --dim n=100.
assert_cost() { _thunkline_cost 0 "$2" "$@"; }
refute_cost() { _thunkline_cost 1 "not $2" "$@"; }
_thunkline_cost() {
    local status=$1 what=$2 file=$3 claim=$4
    shift 4
    _thunkline_ends "$status" "$what" gprof --static --assert "$claim" "$@" -- "$file"
}

# assert_type FILE NAME TYPE [gload's options...]: an output, or any variable, has that type, such as 'float64[n, 3]'.
assert_type() { _thunkline_type same "$2: $3" "$@"; }
refute_type() { _thunkline_type other "$2: another type than $3" "$@"; }
_thunkline_type() {
    local relation=$1 what=$2 file=$3 name=$4 type=$5 types
    shift 5
    # TYPE is declared in the same graph: so gload checks it, and writes both in one way
    types=$(_thunkline_types "$what" "$file" "$name,_expected" -i "_expected: $type" "$@") || return
    _thunkline_is "$relation" "${types%$'\n'*}" "${types##*$'\n'}" ||
        _thunkline_fails "$what" "$name: ${types%$'\n'*}" "gload --outputs $name --info -- $file"
}
# The types of variables, a line for each.
_thunkline_types() { # expectation, FILE, names, gload's options
    local what=$1 file=$2 names=$3
    shift 3
    _thunkline_runs "$what" gload --outputs "$names" "$@" --info -O json -- "$file" |
        sed -n 's/.*"section": "outputs".*"text": "\(.*\)"}.*/\1/p'
    return "${PIPESTATUS[0]}"
}

# assert_shape FILE NAME SHAPE [grun's operands and options...]: SHAPE is '[3, 4]', or '[]' of a scalar. With operands, the
# shape after a run; without, what the type says: '[n, 64]', '?' for an axis of unknown length.
assert_shape() { _thunkline_shape same "$2: a shape of $3" "$@"; }
refute_shape() { _thunkline_shape other "$2: another shape than $3" "$@"; }
_thunkline_shape() {
    local relation=$1 what=$2 file=$3 name=$4 shape=${5//[[:space:]]/} came
    shift 5
    [[ $shape =~ ^(\[|\()([A-Za-z0-9_?,]*)(\]|\))$ ]] || _thunkline_fails "a shape such as '[3, n]'" "$shape" "${FUNCNAME[1]}" '' 2 || return
    shape=${BASH_REMATCH[2]%,}
    if [ $# -gt 0 ]; then
        came=$(_thunkline_runs "$what" grun --outputs "$name" "$@" -O json -- "$file") || return
        came=$(sed -n 's/.*"shape": \(\[[^]]*\]\).*/\1/p' <<<"$came")
    else
        came=$(_thunkline_types "$what" "$file" "$name") || return
        if [[ $came == *'['* ]]; then came="[${came#*[}"; else came='[]'; fi
    fi
    _thunkline_is "$relation" "${came//[[:space:]]/}" "[$shape]" || _thunkline_fails "$what" "$name: $came" "${FUNCNAME[1]} $file $name"
}
_thunkline_is() { if [ "$2" = "$3" ]; then [ "$1" = same ]; else [ "$1" = other ]; fi; }

# assert_snapshot [--rtol R] [--atol A] [NAME]: $output of the last `run` is what snapshots/NAME.txt beside the test file holds.
# Numbers with a point or an exponent may differ by A + R * |number| (1e-8 and 1e-5); all else is compared as text. Without NAME,
# the file is called after the test file and the test. UPDATE_SNAPSHOTS=1 in the environment writes those that are missing or
# differ.
assert_snapshot() {
    local rtol=1e-5 atol=1e-8 name file
    _thunkline_snapshot "$@" || return
    if [ -f "$file" ] && _thunkline_close "$file"; then return; fi
    if [[ ${UPDATE_SNAPSHOTS:-0} != 0 ]]; then
        mkdir -p "${file%/*}" && printf '%s\n' "$output" >"$file"
    elif [ -f "$file" ]; then
        _thunkline_fails "what $file holds (UPDATE_SNAPSHOTS=1 writes it anew)" 'the lines with +' "run, status $status" \
            "$(printf '%s\n' "$output" | diff -u "$file" - | tail -n +3)"
    else
        _thunkline_fails "a snapshot $file (UPDATE_SNAPSHOTS=1 writes it)" 'there is none' "run, status $status" "$output"
    fi
}

# refute_snapshot [--rtol R] [--atol A] NAME: $output is something else; the snapshot has to be there.
refute_snapshot() {
    local rtol=1e-5 atol=1e-8 name file
    _thunkline_snapshot "$@" || return
    [ -f "$file" ] || _thunkline_fails "a snapshot $file" 'there is none' "run, status $status" "$output" || return
    ! _thunkline_close "$file" || _thunkline_fails "anything but what $file holds" 'the same' "run, status $status" "$output"
}

# What the words of a snapshot assertion say: sets its rtol, atol, name and file.
_thunkline_snapshot() {
    while [[ ${1-} == --* ]]; do
        case $1 in
        --rtol) rtol=$2 ;;
        --atol) atol=$2 ;;
        *) _thunkline_fails '--rtol R, --atol A or a name' "$1" "${FUNCNAME[1]} $*" '' 2 || return ;;
        esac
        shift 2
    done
    [ "${status-}" != 127 ] || _thunkline_fails 'a command that exists' 'status 127' run "$output" 127 || return
    [ -n "${output+set}" ] || _thunkline_fails "run COMMAND before it" 'no $output' "${FUNCNAME[1]} $*" '' 2 || return
    if [ -n "${1-}" ]; then
        name=$1
    else
        name=${BATS_TEST_FILENAME##*/}
        name=${name%.bats}-${BATS_TEST_DESCRIPTION//[^A-Za-z0-9_.]/-}
        # the second of a test and those after it have numbers
        _thunkline_snapshots=$((${_thunkline_snapshots:-0} + 1))
        [ "$_thunkline_snapshots" = 1 ] || name+=-$_thunkline_snapshots
    fi
    file=$BATS_TEST_DIRNAME/snapshots/$name.txt
}

# Is $output what the file holds, up to rtol and atol? Columns may have other widths on lines with such numbers.
_thunkline_close() {
    printf '%s\n' "$output" | awk -v rtol="$rtol" -v atol="$atol" '
        # A line without its floats, which go to `floats`; what is part of a name or an integer stays.
        function skeleton(line, floats,   out, word) {
            for (count = 0; match(line, /[A-Za-z_][A-Za-z0-9_]*|[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?/); line = substr(line, RSTART + RLENGTH)) {
                word = substr(line, RSTART, RLENGTH)
                if (word !~ /^[A-Za-z_]/ && word ~ /[.eE]/) { floats[++count] = word; word = "\001" }
                out = out substr(line, 1, RSTART - 1) word
            }
            out = out line
            if (count) gsub(/ +/, " ", out)
            return out
        }
        function close_to(a, b,   d) {
            d = a - b
            return a == b || (d < 0 ? -d : d) <= atol + rtol * (b < 0 ? -b : b)
        }
        FNR == NR { stored[FNR] = $0; lines = FNR; next }
        $0 != stored[FNR] {
            if (skeleton($0, came) != skeleton(stored[FNR], want)) differs = 1
            for (i = 1; i <= count; i++) if (!close_to(came[i] + 0, want[i] + 0)) differs = 1
        }
        { seen = FNR }
        END { exit differs || seen != lines }' "$1" -
}

# Runs a tool: does it end with that status, and if that is 1, with an error of ours? Else says what was expected and what came.
_thunkline_ends() { # status, expectation, command...
    local want=$1 what=$2 said status=0
    shift 2
    said=$("$@" 2>&1 >/dev/null) || status=$?
    [ "$status" = "$want" ] && [[ $want = 0 || $said == *': error[E_'* ]] ||
        _thunkline_fails "$what" "status $status" "$(_thunkline_words "$@")" "$said" "$status"
}
# Runs a tool that has to succeed, and prints what it prints.
_thunkline_runs() { # expectation, command...
    local what=$1 said status=0
    shift
    said=$("$@" 2>&1) || status=$?
    [ "$status" = 0 ] || _thunkline_fails "$what" "status $status" "$(_thunkline_words "$@")" "$said" "$status" || return
    printf '%s\n' "$said"
}
# A command as one would type it.
_thunkline_words() {
    local word line=
    for word; do
        [[ $word =~ ^[A-Za-z0-9_./=,:@+-]+$ ]] || word="'${word//\'/\'\\\'\'}'"
        line+=" $word"
    done
    echo "${line# }"
}

# The message of an assertion that fails; returns 1, or the status that came.
_thunkline_fails() { # expectation, what came, command, the tool's message, status
    local name
    for name in "${FUNCNAME[@]}"; do [[ $name == _* ]] || break; done
    {
        printf -- '-- %s failed --\nexpected: %s\ncame:     %s\ncommand:  %s\n' "$name" "$1" "$2" "$3"
        [ -z "${4-}" ] || printf '%s\n' "$4" | sed 's/^/    /'
    } >&2
    [ "${5:-0}" = 0 ] || return "$5"
    return 1
}
