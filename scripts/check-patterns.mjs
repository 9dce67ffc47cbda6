// Part of `npm run check`: no regular expression of the service or the console takes more than linear time on any text.
// Reads every literal and every `new RegExp` of constants. scripts/safe-patterns.json has the hashes of those that recheck
// found to be linear; `node scripts/check-patterns.mjs --write` checks new ones, which takes up to 20 seconds each.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'rolldown/parseAst';
import { root } from './steps.mjs';

const CACHE = join(root, 'scripts', 'safe-patterns.json');
const TIMEOUT_MS = 20_000;
/** Patterns of people: they run in a thread with a time limit, and are compiled to see whether they are valid. */
const OF_PEOPLE = ['router/src/infra/matching/regex-worker.mjs', 'router/src/core/routing/regex-problem.ts'];

/**
 * The regular expressions of a source, and the places of those that are made from something else than constants.
 * @param {string} file its path, which also tells the language
 * @param {string} source
 * @returns {{ patterns: Array<{ pattern: string, flags: string, at: string }>, unknown: string[] }}
 */
export function patternsIn(file, source) {
  const ending = file.slice(file.lastIndexOf('.') + 1);
  const ast = parseAst(source, { lang: ending === 'tsx' || ending === 'ts' ? ending : 'js' });
  const constants = new Map();
  const patterns = [];
  const unknown = [];
  const placeOf = ({ start }) => `${file}:${source.slice(0, start).split('\n').length}`;
  const visit = (node) => {
    if (Array.isArray(node)) for (const inner of node) visit(inner);
    else if (node !== null && typeof node === 'object' && !(node instanceof RegExp)) {
      read(node);
      for (const key of Object.keys(node)) visit(node[key]);
    }
  };
  const read = (node) => {
    if (node.type === 'VariableDeclaration' && node.kind === 'const') {
      for (const { id, init } of node.declarations) {
        const text = init && textOf(init, constants);
        if (id.type === 'Identifier' && text !== undefined) constants.set(id.name, text);
      }
    }
    if (node.regex) patterns.push({ ...node.regex, at: placeOf(node) });
    const isMade =
      (node.type === 'NewExpression' || node.type === 'CallExpression') && node.callee.name === 'RegExp';
    if (!isMade) return;
    const [pattern, flags = ''] = node.arguments.map((argument) => textOf(argument, constants));
    if (pattern !== undefined && flags !== undefined) patterns.push({ pattern, flags, at: placeOf(node) });
    else if (!OF_PEOPLE.includes(file)) unknown.push(placeOf(node));
  };
  visit(ast.body);
  return { patterns, unknown };
}

/** The value of a constant expression; undefined: it is none. */
function textOf(node, constants) {
  if (node.type === 'Literal' && typeof node.value === 'string') return node.value;
  if (node.type === 'Identifier') return constants.get(node.name);
  if (node.type === 'BinaryExpression' && node.operator === '+') {
    const sides = [textOf(node.left, constants), textOf(node.right, constants)];
    return sides.includes(undefined) ? undefined : sides.join('');
  }
  const isRaw = node.type === 'TaggedTemplateExpression' && node.tag.property?.name === 'raw';
  const template = isRaw ? node.quasi : node;
  if (template.type !== 'TemplateLiteral') return undefined;
  let text = '';
  for (const [index, { value }] of template.quasis.entries()) {
    const inner = index === 0 ? '' : textOf(template.expressions[index - 1], constants);
    if (inner === undefined) return undefined;
    text += inner + (isRaw ? value.raw : value.cooked);
  }
  return text;
}

/**
 * What is wrong with a pattern.
 * @param {{ pattern: string, flags: string }} literal
 * @returns {Promise<string | undefined>} undefined: its time is linear
 */
export async function problemOf({ pattern, flags }) {
  process.env.RECHECK_BACKEND = 'pure';
  const { check } = await import('recheck');
  const { status, complexity, attack, error } = await check(pattern, flags, { timeout: TIMEOUT_MS });
  if (status === 'safe') return undefined;
  if (status === 'unknown') return `undecided (${error?.kind ?? 'unknown'}); write it shorter`;
  return `${complexity?.summary ?? status}, for example on ${attack?.pattern ?? 'unknown'}`;
}

function sourcesIn(folder) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:ts|tsx|mjs)$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll('\\', '/'));
}

function hashOf({ pattern, flags }) {
  return createHash('sha256').update(`/${pattern}/${flags}`).digest('hex').slice(0, 16);
}

async function main() {
  const isWriting = process.argv.includes('--write');
  const known = new Set(JSON.parse(readFileSync(CACHE, 'utf8')));
  const found = new Map();
  const problems = [];
  for (const file of ['router/src', 'console/src'].flatMap(sourcesIn)) {
    const { patterns, unknown } = patternsIn(file, readFileSync(join(root, file), 'utf8'));
    for (const literal of patterns) found.set(hashOf(literal), literal);
    for (const at of unknown)
      problems.push(`${at} makes a regular expression of something that is no constant here`);
  }
  const safe = [];
  for (const [hash, literal] of found) {
    const shown = `${literal.at} /${literal.pattern}/${literal.flags}`;
    const isKnown = known.has(hash);
    const problem = isKnown
      ? undefined
      : isWriting
        ? await problemOf(literal)
        : 'is not checked yet. Run node scripts/check-patterns.mjs --write';
    if (problem === undefined) safe.push(hash);
    else problems.push(`${shown}\n  ${problem}`);
  }
  if (isWriting) writeFileSync(CACHE, `${JSON.stringify(safe.sort(), null, 2)}\n`);
  for (const problem of problems) console.log(problem);
  process.exitCode = problems.length > 0 ? 1 : 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
