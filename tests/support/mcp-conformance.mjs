// Lets the official conformance suite start on Node 20, whose `fs` has no `globSync`: the suite imports the name for a
// command that no test uses. `node --import` this file.
import { register } from 'node:module';

const fs = "export * from 'node:fs'; export { default } from 'node:fs'; export const globSync = () => [];";
const loader = `
const FS = 'data:text/javascript,${encodeURIComponent(fs).replaceAll("'", '%27')}';
export const resolve = (specifier, context, next) =>
  specifier === 'fs' && context.parentURL?.includes('/@modelcontextprotocol/conformance/')
    ? { url: FS, shortCircuit: true }
    : next(specifier, context);
`;
register(`data:text/javascript,${encodeURIComponent(loader)}`);
