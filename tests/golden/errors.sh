#!/bin/bash
gload -e 'y = sine(x)' -O yaml
gload -i 'x: float32[3, 4]' -i 'z: float32[5]' -e 'x + z' -O yaml
gload -i 'x: flaot32[3]' -e 'x' -O yaml
gload -e 'x +* 2' -O yaml
gload -e 'a < b < c' -O yaml
gload -e 'x if y else z' -O yaml
gload -e 'sum(x, axes=1)' -O yaml
printf 'thunkline: 1\ninputs:\n  x: float64\noutput: [x]\n' | gload -O yaml
printf 'thunkline: 1\nlet: |\n  a = b\n  b = a\noutputs: [a]\n' | gload -O yaml
gload -e 'x * 2' | grun y=1
gload -e 'x * 2' | grun
gload --outptus x
