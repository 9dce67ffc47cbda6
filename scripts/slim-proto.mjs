// Changes Baileys' WAProto after each install, for tests and the service alike; a patch would be thousands of lines of generated
// code. Baileys defines 500 kinds of protobuf messages and 170 enums, of which a service uses some 50: all made at the start take 25 MB
// of memory, half of it when each is made with its first use.
import { join } from 'node:path';
import { fail, readIfThere, replaceFile, root } from './steps.mjs';

/** Accessors such as `_timestamp`, which tell whether an optional field is set: 2,200 pairs of functions that nobody calls. */
const OPTIONAL_FIELD =
  /\n *\/\/ Virtual OneOf for proto3 optional field\n *Object\.defineProperty\(\w+\.prototype, "_\w+", \{\n.*\n.*\n *\}\);/g;
const KIND_BEGINS = /^( +)(\w+(?:\.\w+)*)\.(\w+) = \(function\(\) \{$/;
const KIND_ENDS = /^( +)\}\)\(\);$/;
const ROOT = '\nexport const proto = ';

const LAZY = `
function $lazy(owner, name, make) {
    const set = (value) => Object.defineProperty(owner, name, { value, writable: true, enumerable: true, configurable: true });
    const get = () => {
        const value = make();
        set(value);
        return value;
    };
    Object.defineProperty(owner, name, { get, set, enumerable: true, configurable: true });
}
`;

/** Changes the installed file. Ends the script when it has another form. */
export function slimWaProto() {
  const path = join(root, 'node_modules', '@whiskeysockets', 'baileys', 'WAProto', 'index.js');
  const code = readIfThere(path);
  if (code === undefined || code.includes(LAZY)) return;
  try {
    replaceFile(path, slimProto(code));
  } catch (error) {
    fail(`${path}: ${error.message} Change scripts/slim-proto.mjs, or remove it.`);
  }
}

/**
 * Each kind of message is made when it is first used, and has no accessors of optional fields.
 * @param {string} code of WAProto/index.js, as GenerateStatics.sh of Baileys writes it
 * @throws {Error} the code has another form
 */
export function slimProto(code) {
  const open = [];
  let kinds = 0;
  const lines = code
    .replace(OPTIONAL_FIELD, '')
    .split('\n')
    .map((line) => {
      const [, indent, owner, name] = KIND_BEGINS.exec(line) ?? [];
      if (indent !== undefined) {
        open.push(indent);
        kinds += 1;
        return `${indent}$lazy(${owner}, "${name}", function() {`;
      }
      if (KIND_ENDS.exec(line)?.[1] !== open.at(-1) || open.length === 0) return line;
      return `${open.pop()}});`;
    });
  const slim = lines.join('\n');
  if (kinds === 0 || open.length > 0 || !slim.includes(ROOT)) {
    throw new Error('WAProto/index.js of Baileys has another form than slim-proto.mjs knows.');
  }
  return slim.replace(ROOT, `${LAZY}${ROOT}`);
}
