// The packages of the service as compiled code: without it, Node compiles 5 MB of text at each start (a third of the start's
// processor time, 18 MB of memory). Node 20 caches the code of scripts only, so that a chunk of the bundle becomes two files:
//   packages-<hash>.js   the module: its imports and exports, as before
//   packages-<hash>.cjs  the text between them, as one function that gets the imports and returns the exports
// and packages-<hash>.cache has the code that V8 made of the latter. V8 ignores a cache of another version of Node, or of other
// flags (such as --max-old-space-size), and compiles the text.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const IMPORT = /^import(?:([^"]*?)from)?"([^"]+)";/;
/** The script has no `import()`: V8 does not keep its loader in cached code. */
const DYNAMIC_IMPORT = /(?<![.\w$])import(?=\()/g;
const EXPORTS = /export\{([^{}]*)\};\s*$/;

/** The module in `folder` that loads the others. */
const LOADER = 'cached-script.js';
const LOADER_TEXT = `import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import vm from 'node:vm';

/** The function in the script beside \`module\`, with its code from the cache if there is one that fits. */
export function cachedScript(module) {
  const file = fileURLToPath(module).replace(/\\.js$/, '.cjs');
  const cache = file.replace(/\\.cjs$/, '.cache');
  const script = new vm.Script(readFileSync(file, 'latin1'), {
    filename: file,
    ...(existsSync(cache) && { cachedData: readFileSync(cache) }),
  });
  return { run: script.runInThisContext(), script };
}
`;

/**
 * Splits a chunk of the bundle into a module and a script. Imports and exports must not change after the module was evaluated.
 * @param {string} code without characters beyond Latin-1, as rolldown writes it without white space
 * @returns {{ module: string, script: string }}
 * @throws {Error} the code has another form
 */
export function splitChunk(code) {
  const imports = [];
  let body = code.trimStart();
  for (let match = IMPORT.exec(body); match; match = IMPORT.exec(body)) {
    imports.push(match);
    body = body.slice(match[0].length).trimStart();
  }
  const exported = EXPORTS.exec(body);
  if (!exported || /\bimport\.meta\b/.test(body))
    throw new Error('The chunk has another form than code-cache.mjs knows.');
  body = body.slice(0, exported.index).replace(DYNAMIC_IMPORT, '$import');
  const parameters = [...imports.flatMap(([, names = '']) => importedNames(names)), '$import'];
  const exports = exported[1].split(',').map((each) => {
    const [local, name = local] = each.trim().split(' as ');
    return { local, name };
  });
  const module = [
    `import{cachedScript}from"./${LOADER}";`,
    ...imports.map(([text]) => text),
    'export const{run:$run,script:$script}=cachedScript(import.meta.url);',
    'const $import=(name)=>import(name);',
    `const[${exports.map((_, index) => `$${index}`)}]=$run(${parameters});`,
    `export{${exports.map(({ name }, index) => `$${index} as ${name}`)}};`,
  ].join('\n');
  const script = `"use strict";(function(${parameters}){${body}\nreturn[${exports.map(({ local }) => local)}]})`;
  return { module: `${module}\n`, script };
}

/** The local names of an import: \`a,{b,c as d}\` or \`*as e\`. */
function importedNames(clause) {
  return clause
    .replace(/[{}]/g, ',')
    .split(',')
    .map((each) =>
      each
        .trim()
        .replace(/^.*\bas /, '')
        .replace(/^\*\s*as\s*/, ''),
    )
    .filter((name) => name !== '');
}

/** Splits the chunks of these names, loads the service once, and writes the code that V8 made. */
export function cacheCode(folder, isCached) {
  const chunks = readdirSync(folder).filter((name) => name.endsWith('.js') && isCached(name));
  for (const name of chunks) {
    const { module, script } = splitChunk(readFileSync(join(folder, name), 'latin1'));
    writeFileSync(join(folder, name), module, 'latin1');
    writeFileSync(join(folder, name.replace(/\.js$/, '.cjs')), script, 'latin1');
  }
  writeFileSync(join(folder, LOADER), LOADER_TEXT);
  const [app, heapFlags] = [/^app-[^.]*\.js$/, /^heap-flags-[^.]*\.js$/].map((pattern) =>
    readdirSync(folder).find((name) => pattern.test(name)),
  );
  const url = (name) => JSON.stringify(pathToFileURL(join(folder, name)).href);
  const program = `
    import { writeFileSync } from 'node:fs';
    const [setHeapFlags] = Object.values(await import(${url(heapFlags)}));
    setHeapFlags();
    await import(${url(app)});
    for (const name of ${JSON.stringify(chunks)}) {
      const { $script } = await import(${JSON.stringify(`${pathToFileURL(folder).href}/`)} + name);
      writeFileSync(${JSON.stringify(`${folder}/`)} + name.replace(/\\.js$/, '.cache'), $script.createCachedData());
    }
    process.exit();`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    env: { ...process.env, NODE_OPTIONS: '' },
    encoding: 'utf8',
  });
  if (status !== 0 || !chunks.every((name) => existsSync(join(folder, name.replace(/\.js$/, '.cache'))))) {
    throw new Error(`The code of the packages could not be cached: ${stderr}`);
  }
}
