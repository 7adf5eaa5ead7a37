// The panel says of each Apply what `gload -O json --nodes` says. usage: node panels.mjs PAGE.html NODES.json
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {Browser} from './browser.mjs';

const [, , file, nodes] = process.argv;
const want = JSON.parse(readFileSync(nodes, 'utf8'));
const types = new Map(want.vars.map(v => [v.id, v.type]));
const b = await Browser.start();
try {
    await b.open(file);
    for (const n of want.nodes) {
        await b.run(path => { location.hash = '#at=' + path; }, 'a' + n.id);
        await b.until(id => document.querySelector('#panel')?.dataset.shows === id, 'a' + n.id);
        const panel = await b.run(() => {
            const facts = {};
            document.querySelectorAll('#panel dt').forEach(dt => { facts[dt.textContent] = dt.nextElementSibling.textContent; });
            const sections = {};
            document.querySelectorAll('#panel section').forEach(s => { sections[s.querySelector('h3').textContent] = s.textContent.slice(s.querySelector('h3').textContent.length); });
            return {title: document.querySelector('#panel h2').textContent, facts, sections};
        });
        assert.equal(panel.facts.op.split(' · ')[0], n.op, 'op of ' + n.id);
        if (n.name) assert.ok(panel.title.startsWith(n.name + ' = '), panel.title);
        if (n.line) assert.ok((panel.sections.From || '').includes('line ' + n.line), 'line of ' + n.id);
        const out = panel.sections.Output || panel.sections.Outputs;
        for (const v of n.outputs) assert.ok(out.includes(types.get(v)), out + ' has ' + types.get(v));
        const ins = panel.sections.Inputs || panel.sections.Input;
        for (const v of n.inputs) assert.ok(ins.includes(types.get(v)), ins + ' has ' + types.get(v));
        for (const [k, v] of Object.entries(n.props)) if (v !== null) assert.ok((panel.facts.props || '').includes(k + '='), 'prop ' + k + ' of ' + n.id + ': ' + panel.facts.props);
        if (n.rule) assert.equal(panel.facts['made by'], n.rule);
    }
    assert.deepEqual(b.messages, []);
    console.log(want.nodes.length + ' Applies are described as they are');
} finally {
    await b.close();
}
