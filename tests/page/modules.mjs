// The page's own modules, for node: bundled as the build does it, because they are scripts to a browser and nothing to npm.
import {execFileSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import vm from 'node:vm';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');

/** What modules export, by name. @param {string} file of lib/page @param {string[]} names */
export function pageModule(file, names) {
    const text = execFileSync('awk', ['-f', join(root, 'lib/gen/bundle.awk'), join(root, 'lib/page', file)], {encoding: 'utf8', maxBuffer: 1 << 28});
    const context = vm.createContext({atob, performance, console, structuredClone, setTimeout, clearTimeout});
    return vm.runInContext(text + ';({' + names.join(',') + '})', context);
}

/** The data of a page. @param {string} file */
export function pageData(file) {
    const html = readFileSync(file, 'utf8');
    return JSON.parse(html.match(/<script type="application\/json" id="data">([\s\S]*?)<\/script>/)[1]);
}
