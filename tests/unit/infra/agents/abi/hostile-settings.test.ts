import { describe, expect, it } from 'vitest';
import {
  type AbiProblemsError,
  createAbi,
} from '../../../../../router/src/infra/agents/abi/codec/abi-signature.ts';
import { AbiDefinitionError } from '../../../../../router/src/infra/agents/abi/codec/abi-type.ts';
import { interpret } from '../../../../../router/src/infra/agents/abi/input/abi-command.ts';
import {
  parseOutputTemplate,
  soleReference,
} from '../../../../../router/src/infra/agents/abi/output/output-template.ts';

/** Settings that once blocked the event loop for minutes: they would exceed the time limit of these tests. */

async function problemsOf(entries: unknown[]): Promise<string> {
  return createAbi(entries).then(
    () => 'none',
    (error: AbiProblemsError) => error.message,
  );
}

function helpOf(abi: Awaited<ReturnType<typeof createAbi>>, text: string): string {
  const message = { id: 'm', from: '1@s.whatsapp.net', channelId: '1', text, timestamp: new Date(0) };
  const meant = interpret({ abi }, message);
  return meant.kind === 'say' ? meant.text : '';
}

/** Structs that each contain the previous one twice: 2 to the power of `depth` fields. */
function doubling(depth: number, field = 'string'): string[] {
  const next = (level: number) => `struct S${level + 1} { S${level} a; S${level}[] b; }`;
  return [
    `struct S0 { ${field} a; ${field} b; }`,
    ...Array.from({ length: depth }, (_, level) => next(level)),
  ];
}

describe('a hostile ABI', () => {
  it.each(['string', 'uint256'])('of exponentially nested structs is refused, of %s', async (field) => {
    const problems = await problemsOf([...doubling(40, field), 'function boom(S40 x)']);
    expect(problems).toBe('functions[41] has more than 1000 types, with structs written out');
  });

  it('of too many types in total is refused', async () => {
    const args = 'uint256 a,'.repeat(900);
    const functions = Array.from({ length: 1_000 }, (_, index) => `function f${index}(${args} bool b)`);
    expect(await problemsOf(functions)).toBe('functions must have at most 50000 types in all');
  });

  it('of long runs of spaces is read in linear time', async () => {
    const spaces = ' '.repeat(9_000);
    const brackets = Array.from({ length: 900 }, (_, index) => `function f${index}(uint256[${spaces}!)`);
    expect(await problemsOf(brackets)).toContain('functions[0]');
    const endless = [`struct S { uint256 a; }${' '.repeat(1_000_000)}x`, 'function f(S a)'];
    expect(await problemsOf(endless)).toContain('functions[0] must have at most 10000 characters');
  });

  it('of deeply nested lists has a short help text', async () => {
    const abi = await createAbi([
      `function deep(uint8${'[3]'.repeat(10)} a, (bool b, uint8[3][3][3][3] c)[3][3][3] d)`,
    ]);
    expect(helpOf(abi, '/help deep').length).toBeLessThan(5_000);
    expect(helpOf(abi, '/deep 1').length).toBeLessThan(5_000);
  });
});

describe('a hostile template', () => {
  const outputs = [{ name: 'a', type: { kind: 'string' as const } }];
  const spaces = ' '.repeat(9_900);

  it.each([`{{{${spaces}`, `{{${spaces}`, `{{a${spaces}`, `{{ #${spaces}`])(
    'of spaces is refused in linear time: %#',
    (template) => {
      expect(() => parseOutputTemplate(template, outputs)).toThrow(AbiDefinitionError);
      expect(soleReference(template, outputs)).toBeUndefined();
    },
  );
});
