#!/bin/bash
for e in 'x[1:, None, ::2]' 'x.T @ x' 'where(x > 0, x, -x)' '-x ** 2' '(x + 1) * (x - 1) / 2' 'sum(x, axis=0, keepdims=True)' \
    'x[0] + x[-1]' 'concatenate([x, x], axis=1).shape[1] * x' 'float32(x) + 1' 'x // 2 % 3' '~(x > 1) | (x < -1)' 'einsum("ij,kj->ik", x, x)'; do
    gload --no-provenance -i 'x: float64[n, 4]' -e "$e" -O yaml | sed -n '/^let/,$p'
done
