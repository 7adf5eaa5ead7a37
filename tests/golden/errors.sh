#!/bin/bash
gload -e 'y = sine(x)' -O json
gload -i 'x: float32[3, 4]' -i 'z: float32[5]' -e 'x + z' -O json
gload -i 'x: flaot32[3]' -e 'x' -O json
gload -e 'x +* 2' -O json
gload -e 'a < b < c' -O json
gload -e 'x if y else z' -O json
gload -e 'sum(x, axes=1)' -O json
printf 'thunkline: 1\ninputs:\n  x: float64\noutput: [x]\n' | gload -O json
printf 'thunkline: 1\nlet: |\n  a = b\n  b = a\noutputs: [a]\n' | gload -O json
gload -e 'x * 2' | grun y=1
gload -e 'x * 2' | grun
gload --outptus x
