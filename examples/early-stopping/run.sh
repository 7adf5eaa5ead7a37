#!/bin/sh
# Trains the perceptron of examples/mlp an epoch at a time, looks at rows it doesn't train on after each epoch, keeps the
# best state, and ends when five epochs brought nothing better. A turn of the loop costs milliseconds beyond its work.
# usage: run.sh [DIRECTORY OF THE TOOLS]
PATH=${1:+$(cd "$1" && pwd):}$PATH
cd "$(dirname "$0")" || exit 1
set -e
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
digits=../digits now=$dir/now.tlg best=$dir/best.tlg
rows() { printf "x=float32(load('$digits/x.npy')[%s]) / 16" "$1"; }

# Differentiated and rewritten once; accuracy is there for the validation, which leaves out the updates.
step() { printf '%s = %s - 0.3 * d_loss_d_%s' "$1" "$1" "$1"; }
ggrad ../mlp/model.yaml --cost loss --wrt W1,b1,W2,b2 |
    gload --update "$(step W1)" --update "$(step b1)" --update "$(step W2)" --update "$(step b2)" --outputs loss,accuracy |
    grewrite -o "$now"

lowest=inf worse=0 epoch=0
while [ $worse -lt 5 ] && [ $epoch -lt 100 ]; do
    epoch=$((epoch + 1))
    grun "$now" "$(rows :1200)" y=@$digits/y.npy[:1200] --each x,y --batch 50 --shuffle $epoch --save "$now" >/dev/null
    loss=$(grun "$now" --no-updates --outputs loss "$(rows 1200:1500)" y=@$digits/y.npy[1200:1500])
    loss=${loss#loss = }
    echo "epoch $epoch: $loss"
    if awk "BEGIN { exit !(\"$lowest\" == \"inf\" || $loss < $lowest + 0) }"; then
        lowest=$loss worse=0
        cp "$now" "$best"
    else
        worse=$((worse + 1))
    fi
done
echo "the best of $epoch epochs has the loss $lowest; on rows that no epoch has seen:"
grun "$best" --no-updates --outputs loss,accuracy "$(rows 1500:)" y=@$digits/y.npy[1500:]
