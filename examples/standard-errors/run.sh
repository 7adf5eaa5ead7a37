#!/bin/sh
# Fits a logistic regression by Newton's method and tells how far its coefficients can be trusted: standard errors from
# the Hessian of minus the log likelihood, and the probability of a coefficient as far from 0 by chance (Wald's test).
# usage: run.sh [DIRECTORY OF THE TOOLS]
PATH=${1:+$(cd "$1" && pwd):}$PATH
cd "$(dirname "$0")" || exit 1
set -e
digits=../digits
ggrad model.yaml --cost loss --wrt w | ggrad --hessian loss --wrt w |
    gload - --update 'w = w - solve(hessian_loss_w, d_loss_d_w, assume_a="pos")' \
        -e 'error = sqrt(diag(inv(hessian_loss_w)))' -e 'p = erfc(abs(w / error) / sqrt(2.))' \
        --outputs loss,accuracy,w,error,p |
    grewrite | grun x=@$digits/x.npy digit=@$digits/y.npy --steps 10
