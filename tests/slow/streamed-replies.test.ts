import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { writingModel } from '../support/writing-model.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

let bed: TestBed;

beforeAll(async () => {
  bed = await TestBed.startPaired();
});

afterAll(async () => {
  await bed.close();
});

/** A person whose question a model is about to answer, shown in this way. */
async function asked(stream: 'edit' | 'paragraphs', reply: Record<string, unknown> = {}) {
  const model = await writingModel();
  const person = bed.person();
  await bed.service.addRoute(person.phone, model.url, {
    config: { adk: undefined, openai: { model: 'gpt-test' }, reply: { stream, ...reply } },
  });
  const id = await person.say('tell me', { to: bed.phone });
  const answer = await model.nextAnswer();
  return { person, id, answer, nextAnswer: () => model.nextAnswer() };
}

/** What the person's phone shows of the account, in its order. */
const shown = ({ pn }: Person) =>
  bed.emulator
    .bubbles(pn)
    .filter(({ from, isDeleted }) => from === 'account' && !isDeleted)
    .map(({ text }) => text);

const untilShown = (person: Person, ...texts: string[]) =>
  expect.poll(() => shown(person), { timeout: 60_000 }).toEqual(texts);

describe('an answer on the phone while its agent writes it', () => {
  it('is one bubble that grows', async () => {
    const { person, id, answer } = await asked('edit');
    answer.write('One **two** thr');
    await untilShown(person, 'One *two*');
    answer.write('ee four fi');
    await untilShown(person, 'One *two* three four');
    answer.end('ve.');
    const row = await bed.untilTurnEnded(id);
    await untilShown(person, 'One *two* three four five.');
    expect(row).toMatchObject({ state: 'answered' });
    expect(row.trace).toContainEqual(expect.objectContaining({ step: 'stream', outcome: 'edit' }));
  });

  it('continues in further bubbles where it is too long', async () => {
    const { person, answer } = await asked('edit', { maxChars: 100 });
    const sentence = 'This is a sentence. ';
    answer.write(`${sentence.repeat(3)}This`);
    await untilShown(person, sentence.repeat(3).trim());
    answer.write(` is a sentence. ${sentence.repeat(2)}E`);
    const [first, second] = [sentence.repeat(5).trim(), sentence.trim()];
    await untilShown(person, first, second);
    answer.end('nd.');
    await untilShown(person, first, `${second} End.`);
  });

  it('is a message for each paragraph, in order', async () => {
    const { person, answer } = await asked('paragraphs');
    answer.write('# One\n\nis **complete**.\n\nTwo');
    await untilShown(person, '*One*\n\nis *complete*.');
    answer.write(' has code:\n\n```\na\n\nb\n```\n\nThree');
    const before = ['*One*\n\nis *complete*.', 'Two has code:', '```\na\n\nb\n```'];
    await untilShown(person, ...before);
    answer.end(' is the end.');
    await untilShown(person, ...before, 'Three is the end.');
  });

  it('never shows a part of a secret, in either way', async () => {
    const key = `sk-${'aB3'.repeat(12)}`;
    for (const stream of ['edit', 'paragraphs'] as const) {
      const { person, answer } = await asked(stream);
      answer.write(`The first words.\n\nThe key is ${key.slice(0, 6)}`);
      await expect.poll(() => shown(person), { timeout: 60_000 }).toHaveLength(1);
      answer.end(`${key.slice(6)} and that is all.`);
      const rest = 'The key is [removed] and that is all.';
      const whole = ['The first words.', rest];
      await untilShown(person, ...(stream === 'edit' ? [whole.join('\n\n')] : whole));
      expect(JSON.stringify(bed.emulator.transcript())).not.toContain('sk-aB3');
    }
  });

  it('is one final bubble after a kill -9 while it grows', async () => {
    const { person, answer, nextAnswer } = await asked('edit');
    answer.write('The first answer is writ');
    await untilShown(person, 'The first answer is');
    answer.write('ten up to he');
    await untilShown(person, 'The first answer is written up to');
    await bed.service.end('SIGKILL');
    answer.end();
    const again = nextAnswer();
    await bed.restartService();
    const second = await again;
    second.write('Another answer is writ');
    await untilShown(person, 'Another answer is');
    second.end('ten.');
    await untilShown(person, 'Another answer is written.');
  });

  it('continues behind its paragraphs after a kill -9, and the next question follows', async () => {
    const { person, answer, nextAnswer } = await asked('paragraphs');
    answer.write('One.\n\nTwo.\n\nThr');
    await untilShown(person, 'One.', 'Two.');
    await bed.service.end('SIGKILL');
    answer.end();
    const next = await person.say('and then?', { to: bed.phone });
    const again = nextAnswer();
    await bed.restartService();
    (await again).end('One.\n\nTwo.\n\nThree.');
    (await nextAnswer()).end('Then the end.');
    await bed.untilTurnEnded(next);
    await untilShown(person, 'One.', 'Two.', 'Three.', 'Then the end.');
  });
});
