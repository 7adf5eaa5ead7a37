#!/bin/bash
ggrad "$ROOT/examples/digits/model.yaml" --cost loss --wrt W,b -O math
ggrad "$ROOT/examples/digits/model.yaml" --cost loss --wrt W,b | grewrite --explain -O math
