import { describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';

const bed = TestBed.shared();

/** A person whose chat is answered by an agent that always says this. */
async function personAnsweredWith(reply: string, config: Record<string, unknown> = {}) {
  const agent = await bed.anotherAgent(['--reply', reply]);
  const person = bed.person();
  await bed.service.addRoute(person.phone, agent.url, { config });
  const ask = async () => {
    const id = await person.say('tell me', { to: bed.phone });
    return bed.untilTurnEnded(id);
  };
  return { person, ask };
}

describe('the answer of an agent on WhatsApp', () => {
  it("shows Markdown in WhatsApp's own marks", async () => {
    const { person, ask } = await personAnsweredWith(
      '# Weather\n\n**Lima** is *sunny*, see [the map](https://example.com/map).',
    );
    await ask();
    expect((await person.nextReply()).text).toBe(
      '*Weather*\n\n*Lima* is _sunny_, see the map (https://example.com/map).',
    );
  });

  it('shows 20,000 characters of Markdown with code and a table in several bubbles, in order', async () => {
    const sentence = 'This sentence is part of a **long** answer. ';
    const code = `\`\`\`python\n${'print("line")\n'.repeat(100)}\`\`\``;
    const table = '| City | Temp |\n| --- | --- |\n| Lima | 21 |';
    const parts = Array.from({ length: 9 }, (_, index) => `## Part ${index}\n\n${sentence.repeat(45)}`);
    const { person, ask } = await personAnsweredWith(
      [parts.slice(0, 5).join('\n\n'), code, table, ...parts.slice(5)].join('\n\n'),
    );
    const row = await ask();
    const sent = row.replies as Array<{ text: string }>;
    const bubbles = await person.waitForReceived(sent.length);
    const texts = bubbles.map(({ text }) => text ?? '');
    expect(texts.length).toBeGreaterThan(4);
    expect(texts).toEqual(sent.map(({ text }) => text));
    for (const text of texts) {
      expect(text.length).toBeLessThanOrEqual(4_000);
      expect((text.match(/^```$/gm) ?? []).length % 2).toBe(0);
    }
    const whole = texts.join('\n\n');
    expect([...whole.matchAll(/^\*Part (\d)\*$/gm)].map(([, part]) => Number(part))).toEqual([
      0, 1, 2, 3, 4, 5, 6, 7, 8,
    ]);
    expect(whole.match(/\*long\*/g)).toHaveLength(9 * 45);
    expect(whole).toContain('```\nCity  Temp\nLima  21\n```');
    expect(whole).toContain(`\`\`\`\n${'print("line")\n'.repeat(100)}\`\`\``);
    expect(row.trace).toContainEqual(expect.objectContaining({ step: 'reply', outcome: 'split' }));
  });

  it('leaves the text as it is on a route that says so', async () => {
    const { person, ask } = await personAnsweredWith('**raw**', { reply: { format: 'as-is' } });
    await ask();
    expect((await person.nextReply()).text).toBe('**raw**');
  });

  it('never shows reasoning, secrets, stack traces or internal addresses', async () => {
    const { person, ask } = await personAnsweredWith(
      '<think>the database is at 10.1.2.3</think>It failed:\nTypeError: no\n    at run (file:///srv/a.js:1:2)\nAsk again at http://10.1.2.3:8000/x.',
    );
    const row = await ask();
    expect((await person.nextReply()).text).toBe('It failed:\nAsk again at [removed]');
    expect(row.trace).toContainEqual(expect.objectContaining({ step: 'egress-filter', outcome: 'cut' }));
  });

  it('withholds an answer of which nothing may be shown, and sends the failure notice', async () => {
    const { person, ask } = await personAnsweredWith('<think>only thoughts</think>', {
      notices: { failed: 'Sorry.' },
    });
    expect(await ask()).toMatchObject({ state: 'answered', reason: 'reply-withheld' });
    expect((await person.nextReply()).text).toBe('Sorry.');
  });

  it('follows the defaults of all routes', async () => {
    const { person, ask } = await personAnsweredWith('**bold**');
    const put = await bed.service.api('PUT', '/api/settings/conversation', { reply: { format: 'plain' } });
    expect(put.status).toBe(200);
    await ask();
    expect((await person.nextReply()).text).toBe('bold');
    await bed.service.api('PUT', '/api/settings/conversation', {});
  });
});
