import { describe, expect, it } from 'vitest';
import { Wa2aiError } from '../../router/src/core/errors.ts';
import { BUILT_IN } from '../../router/src/core/policies/conversation-fields.ts';
import { filterEgress } from '../../router/src/core/policies/egress-filter.ts';
import { withoutReasoning } from '../../router/src/core/policies/reasoning.ts';
import { shapeReply } from '../../router/src/core/policies/reply.ts';
import { growingMessages, paragraphMessages } from '../../router/src/core/turns/stream-reply.ts';
import { readModelAnswer } from '../../router/src/infra/agents/openai/openai-answer.ts';
import { resultResponse } from '../../router/src/infra/agents/shell/shell-agent-client.ts';
import { errorText } from '../../router/src/infra/agents/transport/error-text.ts';
import { maskedText } from '../../router/src/infra/agents/transport/exchange-mask.ts';
import { markdownPictures } from '../../router/src/infra/formatting/markdown-lexer.ts';
import { markdownToWhatsApp } from '../../router/src/infra/formatting/markdown-to-whatsapp.ts';
import { TinyldLanguageDetector } from '../../router/src/infra/matching/tinyld-language-detector.ts';
import { readYaml } from '../../router/src/infra/operations/form.ts';
import { HttpProblem } from '../../router/src/infra/operations/problem.ts';
import { HOSTILE_CHARS, HOSTILE_PIECES, hostileTexts } from '../support/hostile-texts.ts';

/**
 * The longest that one text may keep the event loop busy, in times of a piece of work that takes some 12 ms on a quiet machine.
 * A busy machine takes longer for both.
 */
const BUDGET = 16;
/** A text that takes less is not compared. */
const QUICK_MS = 100;
const YARDSTICK = Array.from({ length: 20_000 }, (_, id) => ({
  id,
  name: `name ${id}`,
  list: [id, `${id}`],
}));

const settings = { ...BUILT_IN, egressFilter: 'on' as const };
const shaping = { conversation: settings, formatReply: markdownToWhatsApp };
const languages = new TinyldLanguageDetector();

const READERS: ReadonlyArray<[string, (text: string) => unknown]> = [
  [
    'an answer as a reply',
    (text) => shapeReply({ success: true, response: text }, settings, markdownToWhatsApp),
  ],
  ['an answer in plain text', (text) => markdownToWhatsApp(text, 'plain')],
  ['an answer with pictures', (text) => markdownPictures(`![a](b)${text}`)],
  ['the egress filter', (text) => filterEgress(text)],
  ['an answer that is being written', (text) => paragraphMessages(text, shaping)],
  ['an answer that grows', (text) => growingMessages(text, shaping)],
  ['a recorded exchange', (text) => maskedText(JSON.stringify({ text }).slice(0, 65_536), [])],
  ['the answer of a model', (text) => withoutReasoning(text)],
  ['the body of a model server', (text) => readModelAnswer('chat', text)],
  ['the output of a shell', (text) => resultResponse(text, undefined, 3_000)],
  ['the error page of an agent', (text) => errorText(text)],
  ['the language of a message', (text) => languages.languageOf(text)],
  ['a file of routes', (text) => readYaml(text)],
];

describe(`a text of ${HOSTILE_CHARS} characters is read in a moment`, () => {
  it.each(READERS)(
    'as %s',
    async (_, read) => {
      await busyMsOf(read, '**a** b');
      const slow: string[] = [];
      for (const piece of HOSTILE_PIECES) {
        for (const text of hostileTexts(piece)) {
          let ms = await busyMsOf(read, text);
          if (ms <= QUICK_MS) continue;
          // What else runs on the machine takes time once, not three times.
          for (let again = 0; again < 2; again++) ms = Math.min(ms, await busyMsOf(read, text));
          const times = ms / (await busyMsOf(() => JSON.parse(JSON.stringify(YARDSTICK)), text));
          if (times > BUDGET)
            slow.push(`${times.toFixed(1)} (${Math.round(ms)} ms): ${JSON.stringify(text.slice(0, 60))}`);
        }
      }
      expect(slow).toEqual([]);
    },
    600_000,
  );
});

/** The time of this process for a text, in milliseconds. */
async function busyMsOf(read: (text: string) => unknown, text: string): Promise<number> {
  const began = process.cpuUsage();
  try {
    await read(text);
  } catch (error) {
    // A text may be refused; the program may not fail.
    if (!(error instanceof Wa2aiError || error instanceof HttpProblem)) throw error;
  }
  return process.cpuUsage(began).user / 1_000;
}
