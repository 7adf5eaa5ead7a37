#!/usr/bin/env bats
# Fourier and cosine transforms: values of NumPy, SciPy and PyTorch, and what is refused.
load common
load values

@test "transforms are those of NumPy, SciPy and PyTorch, in DEBUG, too" {
    families "$ROOT/tests/bats/fft.tsv"
    families "$ROOT/tests/bats/fft.tsv" --mode DEBUG --allow-nonfinite
}

@test "Fourier transforms: refusals, lengths that only a run knows, many lines and threads" {
    bad 3 E_ARG "norm must be 'backward', 'ortho' or 'forward', not 'unit'" 'gload -e "y = fft([1., 2.], norm='"'unit'"')"'
    bad 3 E_ARG 'fft: axis 1 is out of range for a tensor of 1 dim' 'gload -e "y = fft([1., 2.], axis=1)"'
    bad 3 E_SHAPE 'no transform of no numbers' 'gload -e "y = fft(zeros(0))"'
    bad 3 E_VALUE 'no transform of no numbers' 'gload -e "y = irfft([1.])"'
    bad 3 E_DTYPE 'rfft takes real numbers' 'gload -e "y = rfft([1j])"'
    bad 3 E_ARG 'a length for each of the 2 axes' 'gload -e "y = fftn(eye(2), [1], axes=[0, 1])"'
    bad 3 E_ARG 'at least one axis' 'gload -e "y = fftn(1.)"'
    bad 3 E_ARG 'axis -3 is out of range' 'gload -e "y = fftshift(eye(2), axes=[-3])"'
    bad 5 E_ 'no transform of no numbers' 'gload -i "x: float64[n]" -e "y = fft(x)" | grun "x=zeros(0)"'
    bad 5 E_ 'no transform of no numbers' 'gload -i "x: complex128[n]" -e "y = irfft(x)" | grun "x=[1]"'
    bad 5 E_ 'n must be at least 0' 'gload -i "x: float64[n]" -i "k: int64" -e "y = fft(x, k)" | grun "x=[1]" k=-1'
    bad 5 E_ARITHMETIC 'type must be 2 or 3' 'gload -e "y = dct([1.], type=4)" | grun'
    gload -i 'x: float64[n]' -i 'k: int64' -e 'y = irfft(rfft(x, k), k)' -o g.tlg
    grun g.tlg x=[1,2,3] k=5 --expect "y=[1, 2, 3, 0, 0]" --atol 1e-15 >/dev/null
    grun g.tlg x=[1,2,3] k=2 --expect "y=[1, 2]" >/dev/null
    local n
    for n in 1000 74 97; do # passes, Bluestein, odd
        gload --new -e "x = reshape(sin(arange(1000. * $n) ** 2), (1000, $n))" -e 'all = sum(x ** 2)' -e 'back = max(abs(ifft(fft(x)) - x))' \
            -e 'real = max(abs(irfft(rfft(x.T, axis=0), x.shape[1], axis=0) - x.T))' -e "same = sum(abs(fft(x)) ** 2) / $n / all" --outputs back,real,same -o g.tlg
        for threads in 1 2; do
            grun g.tlg --threads $threads --expect back=0 --expect real=0 --expect same=1 --atol 1e-13 >/dev/null
        done
    done
    # more lengths than plans are kept
    local lines=()
    for n in $(seq 1 40); do lines+=(-e "y$n = abs(fft(ones($n))[0])"); done
    gload --new "${lines[@]}" -e "n = stack([$(seq -s, -f 'y%g' 1 40)])" --outputs n -o g.tlg
    grun g.tlg --expect 'n=1.0 * arange(1, 41)' --rtol 1e-14 >/dev/null
}

@test "lines that are transformed together have the bits of each by itself, in any layout and number of threads" {
    local d n m layout
    for d in complex64 complex128; do
        gload --new -i "x: ${d}[n, m]" -e 'down = fft(x, axis=0)' -e 'back = ifft(x, axis=0)' -e 'along = fft(x.T)' -e 'wide = fft(stack([x, 2 * x]), axis=1)' \
            -e 'one = map(lambda r: fft(r), x.T)' -e 'other = map(lambda r: ifft(r), x.T)' \
            -e 'same = all(down.T == one) & all(back.T == other) & all(along == one) & all(wide[0] == down) & all(wide[1] == 2 * down)' --outputs same -o g.tlg
        while read -r n m layout; do
            for threads in 1 2; do
                ok "grun g.tlg 'x=cast((sin(arange(1.0 * $n * $m) ** 2) + 1j * cos(arange(1.0 * $n * $m)**3)).reshape($n, $m), $d)$layout' --threads $threads" 'same = True'
            done
        done <<'END'
1 40
2 1
2 70
4 33
8 9
12 100 [::-1]
16 65 .T
16 200 [:, ::2]
30 31
32 40
77 50
101 40
512 40
1000 37 [:, ::-1]
3000 17
9000 5
END
    done
}

@test "what a transform prepares counts as memory, too" {
    bad 6 E_MEM 'max-memory' "gload -i 'x: complex128[n]' -e 'y = sum(abs(fft(x)))' | grun 'x=ones(999983,dtype=complex128)' --max-memory 60M"
    ok "gload -i 'x: complex128[n]' -e 'y = abs(fft(x))[0]' | grun 'x=ones(999983,dtype=complex128)' --max-memory 400M" 'y = 999983.0'
}
