import { readFile } from 'node:fs/promises';
import { ToolkitError } from '../../agent-tools.ts';
import { AbiProblemsError, type AgentAbi, createAbi } from '../codec/abi-signature.ts';
import { abiEntriesOf } from '../input/abi-entries.ts';

/** An ABI with the entries that it was made of, as a route has them. */
export interface AbiFile {
  abi: AgentAbi;
  entries: unknown[];
}

/**
 * Reads an ABI from a file: a JSON ABI, a manifest with one under `abi`, a JSON list of signatures, or plain text with one
 * signature per line (`#` and `//` begin comments).
 * @throws {ToolkitError} the file cannot be read or contains no usable ABI
 */
export async function readAbiFile(path: string): Promise<AbiFile> {
  let text: string;
  try {
    text = (await readFile(path, 'utf8')).replace(/^\ufeff/, '');
  } catch (error) {
    throw new ToolkitError(`The ABI file ${path} cannot be read: ${(error as NodeJS.ErrnoException).code}.`);
  }
  const entries = entriesIn(text);
  try {
    return { abi: await createAbi(entries), entries };
  } catch (error) {
    if (!(error instanceof AbiProblemsError)) throw error;
    throw new ToolkitError(`${path} contains no usable ABI: ${error.message}.`);
  }
}

function entriesIn(text: string): unknown[] {
  if (!/^\s*[[{]/.test(text)) {
    const lines = text.split(/\r?\n/).map((line) => line.split(/#|\/\//, 1)[0]?.trim() ?? '');
    return lines.filter((line) => line !== '');
  }
  const entries = abiEntriesOf(parse(text));
  if (entries) return entries;
  throw new ToolkitError('The ABI file contains no ABI: an array, or an object with one under "abi".');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ToolkitError('The ABI file is neither JSON nor a list of signatures.');
  }
}
