#!/bin/sh
# A small convolutional network that PyTorch has written as ONNX (digits.onnx, trained on 300 digits only): what it costs,
# which pixels it looks at, and how it gets better by training on 1500 digits here. Any model of ONNX goes through the
# same pipes.
# usage: run.sh [DIRECTORY OF THE TOOLS]
PATH=${1:+$(cd "$1" && pwd):}$PATH
cd "$(dirname "$0")" || exit 1
set -e
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
digits=../digits
images() { printf "image=reshape(float32(load('$digits/x.npy')[%s]) / 16, [-1, 1, 8, 8])" "$1"; }

echo 'what it costs for a batch of 100:'
gprof --static digits.onnx --dim n=100 | head -3

echo 'where the score of the right class of digit 1500 depends on its pixels, from blank to #:'
gload digits.onnx -e 'score = scores[0, 1]' --outputs score | ggrad --cost score --wrt image --name saliency |
    gload -e 'shown = int64(round(9 * abs(saliency[0, 0]) / max(abs(saliency))))' --outputs shown |
    grun - "$(images 1500:1501)" | tr -d '[]a-z=, ' | tr 0123456789 ' .,:;+*oO#'

# The mean and variance of batch normalisation stay as they are; the weights are fine-tuned.
gload digits.onnx -i 'y: int64[n]' -e 'loss = cross_entropy(scores, y)' -e 'accuracy = mean(argmax(scores, axis=1) == y)' \
    --outputs loss,accuracy |
    ggrad --cost loss --wrt v0_weight,v1_weight,v1_bias,v4_weight,v5_weight,v5_bias,v9_weight,v9_bias --optimizer 'adam(0.01)' |
    grewrite -o "$dir/train.tlg"
held_out() { grun "$1" --no-updates --outputs accuracy "$(images 1500:)" y=@$digits/y.npy[1500:]; }
echo 'digits that it has never seen, before and after 10 epochs:'
held_out "$dir/train.tlg"
grun "$dir/train.tlg" "$(images :1500)" y=@$digits/y.npy[:1500] --each image,y --batch 50 --epochs 10 --shuffle 1 \
    --save "$dir/trained.tlg" >/dev/null
held_out "$dir/trained.tlg"

# Back to ONNX: the same file holds the network and its step of training, whose new weights are outputs such as
# v9_bias_new.
gload "$dir/trained.tlg" -o "$dir/trained.onnx"
echo 'the trained network as a model of ONNX:'
held_out "$dir/trained.onnx"
gload --info "$dir/trained.onnx" | grep -E 'v9_bias(_new)? '
