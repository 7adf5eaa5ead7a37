#!/usr/bin/env python3
"""Messages as an eval of GradBench sends them, with small inputs of our own: for all modules, or those that are named.

Usage: inputs.py [MODULE...] | tool.py [DIRECTORY OF THE TOOLS]
"""
import json
import math
import sys


def wave(*shape, at=0.0):
    """Numbers between -1 and 1, the same everywhere, in nested lists of this shape."""
    step = math.prod(shape[1:])
    if len(shape) == 1:
        return [math.sin(1.3 * (at + k) + 0.1 * (at + k) ** 2) for k in range(shape[0])]
    return [wave(*shape[1:], at=at + step * k) for k in range(shape[0])]


def bits(rows, columns):
    return [[1.0 if x > 0 else 0.0 for x in row] for row in wave(rows, columns, at=3)]


def hand(vertices, found, complicated):
    """A hand of 22 bones: a wrist of two, five fingers of four."""
    parents = [-1, 0] + [1 if joint == 0 else 4 * finger + joint + 1 for finger in range(5) for joint in range(4)]

    def frames(at):
        return [[[(1.0 if i == j else 0.0) + 0.2 * x for j, x in enumerate(row)] for i, row in enumerate(block)] +
                [[0.0, 0.0, 0.0, 1.0]] for block in wave(22, 3, 4, at=at)]

    of = 2 * vertices if complicated else vertices
    model = {
        'bone_count': 22, 'bone_names': ['bone'] * 22, 'parents': parents, 'is_mirrored': False,
        'base_relatives': frames(1), 'inverse_base_absolutes': frames(5),
        'base_positions': [[*row, 1.0] for row in wave(vertices, 3, at=2)],
        'weights': [[max(x, 0.0) for x in row] for row in wave(vertices, 22, at=7)],
        'triangles': [[k % vertices, 3 * k % vertices, (k + 1) % vertices] for k in range(2 * vertices)]}
    data = {'model': model, 'correspondences': [7 * k % of for k in range(found)], 'points': wave(found, 3, at=9)}
    return {'theta': wave(26, at=4), 'data': data, 'us': wave(found, 2, at=6) if complicated else []}


GMM = {'d': 3, 'k': 2, 'n': 5, 'm': 1, 'gamma': 1.2, 'x': wave(5, 3), 'alpha': wave(2, at=1), 'mu': wave(2, 3, at=2),
       'q': wave(2, 3, at=3), 'l': wave(2, 3, at=4)}
LSTM = {'main_params': wave(4, 12), 'extra_params': wave(3, 3, at=1), 'state': wave(4, 3, at=2), 'sequence': bits(7, 3)}
BA = {'n': 2, 'm': 3, 'p': 12, 'cam': wave(11, at=2), 'x': wave(3, at=8), 'w': 0.75, 'feat': wave(2, at=1)}
KMEANS = {'points': wave(9, 2), 'centroids': wave(9, 2)[-3:]}

# (module, function, input), in the order in which they are sent
CASES = [
    ('hello', 'square', 3.5),
    ('hello', 'double', 3.5),
    *(('lse', f, {'x': wave(6)}) for f in ('primal', 'gradient')),
    *(('llsq', f, {'x': wave(4), 'n': 7}) for f in ('primal', 'gradient')),
    *(('kmeans', f, KMEANS) for f in ('cost', 'dir')),
    *(('gmm', f, GMM) for f in ('objective', 'jacobian')),
    *(('det', f, {'A': wave(ell * ell, at=1), 'ell': ell}) for ell in (1, 4, 6) for f in ('primal', 'gradient')),
    *(('lstm', f, LSTM) for f in ('objective', 'jacobian')),
    *(('ode', f, {'x': wave(4, at=1), 's': 5}) for f in ('primal', 'gradient')),
    *(('ba', f, BA) for f in ('objective', 'jacobian')),
    *(('ba', f, {**BA, 'cam': [0.0] * 3 + BA['cam'][3:]}) for f in ('objective', 'jacobian')),
    *(('ht', f, hand(5, 3, complicated)) for complicated in (False, True) for f in ('objective', 'jacobian')),
    *(('particle', f, {'w': 0.0}) for f in ('rr', 'ff', 'fr', 'rf')),
    *(('saddle', f, {'start': [1.0, 1.0]}) for f in ('rr', 'ff', 'fr', 'rf')),
]


def messages(wanted):
    yield {'kind': 'start'}
    for module in dict.fromkeys(case[0] for case in CASES):
        if wanted and module not in wanted:
            continue
        yield {'kind': 'define', 'module': module}
        for of, function, given in CASES:
            if of != module:
                continue
            if isinstance(given, dict):
                given = {**given, 'min_runs': 2 if module not in ('particle', 'saddle') else 1, 'min_seconds': 0}
            yield {'kind': 'evaluate', 'module': module, 'function': function, 'input': given}


if __name__ == '__main__':
    for number, message in enumerate(messages(sys.argv[1:])):
        print(json.dumps({'id': number, **message}))
