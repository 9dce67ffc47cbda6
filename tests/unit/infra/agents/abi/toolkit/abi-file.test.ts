import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readAbiFile } from '../../../../../../router/src/infra/agents/abi/abi-kind.ts';
import { ToolkitError } from '../../../../../../router/src/infra/agents/agent-tools.ts';

async function fileWith(content: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'wa2ai-abi-file-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'agent.abi');
  await writeFile(path, content);
  return path;
}

async function signatures(content: string): Promise<string[]> {
  const { abi } = await readAbiFile(await fileWith(content));
  return abi.functions.map(({ signature }) => signature);
}

const json = [{ type: 'function', name: 'f', inputs: [{ name: 'a', type: 'bool' }] }];

describe('an ABI file', () => {
  it('keeps its entries, for a route', async () => {
    expect((await readAbiFile(await fileWith(JSON.stringify(json)))).entries).toEqual(json);
  });

  it.each([
    ['a JSON ABI', JSON.stringify(json)],
    ['a manifest', JSON.stringify({ name: 'x', abi: json })],
    ['a JSON list of signatures', ' \n["f(bool a)"]'],
    ['a byte order mark', `\ufeff${JSON.stringify(json)}`],
    [
      'signatures, comments and Windows line ends',
      '# all\r\nf(bool a) // the only one\r\n\r\n//f(bool b)\r\n',
    ],
    ['a struct', 'function f(bool a)\nstruct Unused { bool a; }'],
  ])('may contain %s', async (_name, content) => {
    expect(await signatures(content)).toEqual(['f(bool)']);
  });

  it.each([
    ['{"name": "x"}', /contains no ABI: an array, or an object with one under "abi"\.$/],
    ['[1', /is neither JSON nor a list of signatures\.$/],
    [
      '["f(uint7 a)", 5]',
      /agent\.abi contains no usable ABI: functions\[0\] 'uint7' is not an ABI type; functions\[1\] /,
    ],
    ['# nothing', /contains no usable ABI: functions must contain at least one function\.$/],
    ['', /must contain at least one function\.$/],
  ])('is refused when it contains %j', async (content, sentence) => {
    const error = await signatures(content).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ToolkitError);
    expect((error as ToolkitError).message).toMatch(sentence);
  });

  it('that does not exist is an error with its path and the reason', async () => {
    const path = `${await fileWith('')}.missing`;
    await expect(readAbiFile(path)).rejects.toThrow(`The ABI file ${path} cannot be read: ENOENT.`);
  });
});
