#!/usr/bin/env python3
"""thunkline as a tool of GradBench: messages on standard input, answers on standard output, a line of JSON each.

A module is the graph MODULE.yaml, a function of it the variable or tree of that name. Each pair is a process of
`grun --lines`, which stays alive between inputs. Usage: tool.py [DIRECTORY OF THE TOOLS [OPTION OF GRUN...]]
"""
import json
import math
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = sys.argv[1] if len(sys.argv) > 1 else ''
OPTIONS = sys.argv[2:] or ['--threads', '1']


def program(name):
    return os.path.join(TOOLS, name)


class Failure(Exception):
    pass


class Graph:
    """One function of a graph, kept alive."""

    def __init__(self, path, function):
        info = subprocess.run([program('gload'), '--info', '-O', 'json', path], capture_output=True, text=True)
        if info.returncode:
            raise Failure(info.stderr)
        self.function = function
        self.inputs = [row['name'] for row in json.loads(info.stdout) if row['section'] == 'inputs']
        self.errors = tempfile.TemporaryFile('w+')
        self.grun = subprocess.Popen([program('grun'), path, '--outputs', function, '--lines', '--time', *OPTIONS],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)

    def call(self, values, runs):
        """The outputs by label after so many calls, and the seconds of each."""
        try:
            self.grun.stdin.write(json.dumps({'--steps': runs, **values}) + '\n')
            self.grun.stdin.flush()
            answer = self.grun.stdout.readline()
        except BrokenPipeError:
            answer = ''
        if not answer:
            self.grun.wait()
            self.errors.seek(0)
            raise Failure(self.errors.read())
        outputs = json.loads(answer)
        return outputs, outputs.pop('--time')

    def evaluate(self, leaves, min_runs, min_seconds):
        values = {name: leaves[name] for name in self.inputs if name in leaves}
        outputs, times = self.call(values, max(min_runs, 1))
        while sum(times) < min_seconds:
            rest = (min_seconds - sum(times)) * len(times) / max(sum(times), 1e-9)
            times += self.call(values, min(math.ceil(rest), 1000000))[1]
        return join(self.function, outputs), times


def join(function, outputs):
    """A value, or the tree whose leaves have labels such as jacobian/mu."""
    if function in outputs:
        return outputs[function]
    tree = {}
    for label, value in outputs.items():
        *path, last = label.split('/')[1:]
        node = tree
        for name in path:
            node = node.setdefault(name, {})
        node[last] = value
    return tree


def flatten(value):
    """The members of nested objects by their own names."""
    for name, member in value.items():
        if isinstance(member, dict):
            yield from flatten(member)
        else:
            yield name, member


# ---- evals whose messages don't hold what they are about ----

def many_observations(given):
    """ba names one camera, point, weight and feature, and how many of each there are."""
    n, m, p = given['n'], given['m'], given['p']
    return {'cams': [given['cam']] * n, 'points': [given['x']] * m, 'w': [given['w']] * p,
            'feats': [given['feat']] * p, 'obs': [[i % n, i % m] for i in range(p)]}


def few_observations(output):
    """And it asks for a part of what all of them gave."""
    if 'vals' in output:
        return {name: output[name][:30] + output[name][-1:] for name in ('rows', 'cols', 'vals')}
    errors, weights = output['reproj_err'], output['w_err']
    return {'reproj_error': {'elements': errors[0], 'repeated': len(errors)},
            'w_err': {'element': weights[0], 'repeated': len(weights)}}


class Tool:
    def __init__(self):
        self.graphs = {}

    def path(self, module):
        return os.path.join(HERE, os.path.basename(module) + '.yaml')

    def graph(self, module, function):
        if (module, function) not in self.graphs:
            self.graphs[module, function] = Graph(self.path(module), function)
        return self.graphs[module, function]

    def evaluate(self, module, function, given):
        runs, seconds = 1, 0
        if isinstance(given, dict):
            runs, seconds = given.get('min_runs', 1), given.get('min_seconds', 0)
            leaves = many_observations(given) if module == 'ba' else dict(flatten(given))
        if module == 'ht' and not leaves['us']:
            function += '_simple'
            del leaves['us']
        graph = self.graph(module, function)
        if not isinstance(given, dict):
            leaves = {graph.inputs[0]: given}
        try:
            output, times = graph.evaluate(leaves, runs, seconds)
        except Failure:
            del self.graphs[module, function]
            raise
        if module == 'ba':
            output = few_observations(output)
        return {'success': True, 'output': output,
                'timings': [{'name': 'evaluate', 'nanoseconds': round(t * 1e9)} for t in times]}

    def respond(self, message):
        kind = message['kind']
        try:
            if kind == 'start':
                return {'tool': 'thunkline'}
            if kind == 'define':
                return {'success': os.path.exists(self.path(message['module']))}
            if kind == 'evaluate':
                return self.evaluate(message['module'], message['function'], message['input'])
        except Failure as error:
            return {'success': False, 'error': str(error)}
        return {}


def main():
    tool = Tool()
    for line in sys.stdin:
        message = json.loads(line)
        print(json.dumps({'id': message['id'], **tool.respond(message)}), flush=True)


if __name__ == '__main__':
    main()
