import { describe, expect, it } from 'vitest';
import { createAbi } from '../../../../../../router/src/infra/agents/abi/codec/abi-signature.ts';
import { knownDefect } from '../../../../../../router/src/infra/agents/abi/output/read-outputs.ts';

async function defect(entry: string, status: number, body: string): Promise<string | undefined> {
  const { functions, codec } = await createAbi([entry]);
  const [target] = functions;
  if (!target) throw new Error('no function');
  return knownDefect(target, status, body, codec);
}

describe('a wrong tuple selector', () => {
  const entry = 'f((string name, uint256 age)[] users)';

  it('is named with the wrong and the right selector', async () => {
    const { codec } = await createAbi([entry]);
    expect(await defect(entry, 400, 'Unknown function SELECTOR')).toBe(
      `the agent seems to compute tuple selectors wrongly, from f(tuple[]) (${codec.selectorOf('f(tuple[])')}) instead of ` +
        `f((string,uint256)[]) (${codec.selectorOf('f((string,uint256)[])')}); it must expand tuples, as viem's toFunctionSelector(item) does`,
    );
  });

  it.each([
    ['the function has no tuple', 'f(string name)', 400, 'Unknown function selector'],
    ['the status is another', entry, 404, 'Unknown function selector'],
    ['the refusal is about something else', entry, 400, 'age is missing'],
  ])('is not named when %s', async (_name, signature, status, body) => {
    expect(await defect(signature, status, body)).toBeUndefined();
  });
});

describe('a single output that the agent wraps in a list', () => {
  it.each([
    ['bool', 'bool'],
    ['address', 'address'],
    ['bytes4', 'fixedBytes'],
    ['(string name)', 'tuple'],
  ])('of type %s is named', async (type, kind) => {
    expect(await defect(`f() returns (${type})`, 500, 'Error processing request')).toContain(
      `may wrap its single ${kind} output in a list`,
    );
  });

  it.each([
    ['the type can be encoded in a list', 'f() returns (string)', 500, 'Error processing request'],
    ['there are two outputs', 'f() returns (bool, bool)', 500, 'Error processing request'],
    ['there is no output', 'f()', 500, 'Error processing request'],
    ['the status is another', 'f() returns (bool)', 502, 'Error processing request'],
    ['the error is another', 'f() returns (bool)', 500, 'database down'],
  ])('is not named when %s', async (_name, entry, status, body) => {
    expect(await defect(entry, status, body)).toBeUndefined();
  });
});
