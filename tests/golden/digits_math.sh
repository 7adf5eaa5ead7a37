#!/bin/bash
gload --no-provenance "$ROOT/examples/digits/model.yaml" -O yaml
gload "$ROOT/examples/digits/model.yaml" -O math
gload --no-provenance "$ROOT/examples/digits/model.yaml" -O json
gload "$ROOT/examples/digits/model.yaml" -O tree
