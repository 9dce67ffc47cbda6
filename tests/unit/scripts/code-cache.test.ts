import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runInThisContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { repositoryRoot } from '../../support/repository.ts';

const { splitChunk } = await import(pathToFileURL(join(repositoryRoot, 'scripts/code-cache.mjs')).href);

describe('splitChunk', () => {
  it('keeps the imports and exports in the module and gives the rest as a function of the imports', () => {
    const code =
      'import first,{second as other}from"one";import*as all from"two";import"three";' +
      'const sum=first+other+all.third;var twice=()=>sum*2;export{sum as a,twice};\n';
    const { module, script } = splitChunk(code);
    expect(module.split('\n')).toEqual([
      'import{cachedScript}from"./cached-script.js";',
      'import first,{second as other}from"one";',
      'import*as all from"two";',
      'import"three";',
      'export const{run:$run,script:$script}=cachedScript(import.meta.url);',
      'const $import=(name)=>import(name);',
      'const[$0,$1]=$run(first,other,all,$import);',
      'export{$0 as a,$1 as twice};',
      '',
    ]);
    const [sum, twice] = runInThisContext(script)(1, 2, { third: 3 });
    expect([sum, twice()]).toEqual([6, 12]);
  });

  it('keeps the names of a chunk without imports', () => {
    const { script } = splitChunk('function f(){return this}export{f};');
    const [f] = runInThisContext(script)();
    // strict, as in a module
    expect(f()).toBeUndefined();
  });

  it('leaves dynamic imports to the module, because cached code has no loader', () => {
    const { script } = splitChunk('const load=async()=>await import("one");export{load};');
    const [load] = runInThisContext(script)((name: string) => `loaded ${name}`);
    return expect(load()).resolves.toBe('loaded one');
  });

  it.each([
    ['without exports', 'const a=1;'],
    ['that reads its own address', 'const a=import.meta.url;export{a};'],
  ])('refuses code %s', (_, code) => {
    expect(() => splitChunk(code)).toThrow('another form');
  });
});
