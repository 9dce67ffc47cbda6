import { describe, expect, it } from 'vitest';
import { filterEgress } from '../../router/src/core/policies/egress-filter.ts';
import { paragraphMessages } from '../../router/src/core/turns/stream-reply.ts';
import { readScenario } from '../../router/src/features/playground/scenario.ts';
import { parseOutputTemplate } from '../../router/src/infra/agents/abi/output/output-template.ts';
import { parseJsonTemplate } from '../../router/src/infra/agents/json-template.ts';
import { resultResponse } from '../../router/src/infra/agents/shell/shell-agent-client.ts';
import { errorText } from '../../router/src/infra/agents/transport/error-text.ts';
import { maskedText } from '../../router/src/infra/agents/transport/exchange-mask.ts';
import { readYaml } from '../../router/src/infra/operations/form.ts';

/** Far above what these take, far below what they took: from four seconds to years. */
const MAX_MS = 2_000;

const shaping = {
  conversation: { egressFilter: 'on', reply: { format: 'whatsapp', maxChars: 4_000 } },
  formatReply: (text: string) => text,
} as unknown as Parameters<typeof paragraphMessages>[1];

/** What a function may not throw an error of the program for. */
function tolerant(work: () => unknown): () => unknown {
  return () => {
    try {
      return work();
    } catch (error) {
      if (error instanceof RangeError) throw error;
      return undefined;
    }
  };
}

describe('a text of somebody else does not stop the process', () => {
  it.each<[string, () => unknown]>([
    ['an address with colons, in a recorded question', () => maskedText(`a://${':'.repeat(60_000)}`, [])],
    ['an address with colons, in an answer', () => filterEgress(`a://${':'.repeat(200_000)}`)],
    ['line breaks', () => filterEgress('\n'.repeat(1_000_000))],
    ['calls without an end', () => filterEgress(` at ${'(:'.repeat(120_000)}`)],
    ['an error that is named often', () => filterEgress(`${'Error '.repeat(60_000)}\n at x`)],
    ['names of secrets', () => filterEgress('TOKEN='.repeat(40_000))],
    ['names of secrets with brackets', () => filterEgress('TOKEN=aaaaaaaaaaaa[['.repeat(40_000))],
    ['panics without calls', () => filterEgress('panic: \n\ngoroutine 1 [\n'.repeat(40_000))],
    ['reasoning that opens', () => filterEgress('<think>'.repeat(100_000))],
    ['reasoning of other names', () => filterEgress('<think></reasoning>'.repeat(40_000))],
    ['credentials', () => filterEgress('BASIC\t0++BEAC+'.repeat(40_000))],
    ['words that may be tokens', () => filterEgress('sk-'.repeat(200_000))],
    ['hosts', () => filterEgress(`${'10.0.0.1.a-'.repeat(40_000)}:`)],
    ['folders', () => filterEgress('-/home/a'.repeat(60_000))],
    ['a file in base64 that is too short', () => maskedText(`${'a'.repeat(511)} `.repeat(400), [])],
    ['fields of JSON', () => maskedText('"token"'.repeat(40_000), [])],
    [
      'output of a shell that ends in blanks',
      () => resultResponse(`${' '.repeat(1_000_000)}|`, undefined, 3_000),
    ],
    ['output of a shell with returns', () => resultResponse('\r'.repeat(1_000_000), undefined, 3_000)],
    ['an error page of line breaks', () => errorText('\n'.repeat(200_000))],
    ['an output template of blanks', tolerant(() => parseJsonTemplate(`{{${' '.repeat(9_000)}`))],
    ['an output template of comments', tolerant(() => parseOutputTemplate('{{!'.repeat(3_000), []))],
    ['fences', () => paragraphMessages('~'.repeat(500_000), shaping)],
  ])('%s', (_, work) => {
    const beganMs = performance.now();
    work();
    expect(performance.now() - beganMs).toBeLessThan(MAX_MS);
  });

  it.each([
    ['a list', '- a\n'.repeat(60_000), 'lines'],
    ['keys', Array.from({ length: 30_000 }, (_, index) => `k${index}: v\n`).join(''), 'bytes|lines'],
    ['brackets', '['.repeat(200_000), 'levels'],
    ['dashes', '- '.repeat(100_000), 'levels'],
    ['levels', Array.from({ length: 500 }, (_, index) => `${' '.repeat(index)}a:\n`).join(''), 'levels'],
    ['comments', '#\n'.repeat(100_000), 'lines'],
    ['aliases', `a: &a [x]\nb: [${Array.from({ length: 99 }, () => '*a').join(', ')}]`, 'alias'],
    ['one key twice', 'a: 1\nb: 2\na: 3', 'twice'],
    ['too many bytes', `a: ${'x'.repeat(300_000)}`, 'bytes'],
  ])('YAML of %s is refused before it is parsed, or at once', async (_, yaml, reason) => {
    const beganMs = performance.now();
    await expect(readYaml(yaml)).rejects.toMatchObject({
      status: 400,
      details: [{ message: expect.stringMatching(`^is not YAML: .*(?:${reason})`) }],
    });
    expect(await readScenario(yaml)).toHaveProperty('problems');
    expect(performance.now() - beganMs).toBeLessThan(MAX_MS);
  });
});

describe('the egress filter', () => {
  it('withholds a long text in which each removal uncovers another one', () => {
    const text = `${'sk-'.repeat(8)}<think>x</think>`.repeat(2);
    expect(filterEgress(text).removed.length).toBeGreaterThan(0);
    const nested = '<thi<think></think>nk>x</thi<think></think>nk>'.repeat(60_000);
    expect(filterEgress(nested)).toMatchObject({ text: '' });
  });
});
