import { expect, it } from 'vitest';
import { exportLines } from '../../../router/src/features/chats/chat-export.ts';
import { aReceivedMessage, aSentMessage, FakeMessageLog } from '../../doubles/fake-message-log.ts';

const chat = {
  id: '7',
  accountId: 'default',
  channelId: '5493777239922',
  isGroup: false,
  activeAt: new Date(0),
  unanswered: 0,
  failed: 0,
};

async function exported(log: FakeMessageLog) {
  const texts: string[] = [];
  for await (const text of exportLines(log, chat)) texts.push(text);
  const lines = texts.join('').trimEnd().split('\n');
  return {
    texts,
    lines: lines.map((line) => JSON.parse(line) as { type: string; id?: string; messages?: number }),
  };
}

it('writes every message of both directions once, in the order of ids, a page at a time', async () => {
  const log = new FakeMessageLog();
  // Three replies follow every second message, so that the pages of both directions end at different ids.
  let id = 0;
  for (let n = 0; n < 600; n += 1) {
    id += 1;
    log.rows.push(aReceivedMessage({ id: String(id) }));
    for (let reply = 0; n % 2 === 0 && reply < 3; reply += 1) {
      id += 1;
      log.sentRows.push(aSentMessage({ id: String(id) }));
    }
  }
  const { texts, lines } = await exported(log);
  const ids = lines.flatMap((line) => (line.type === 'message' ? Number(line.id) : []));
  expect(ids).toEqual(Array.from({ length: 1_500 }, (_, index) => index + 1));
  expect(lines.at(-1)).toEqual({ type: 'end', messages: 1_500 });
  for (const text of texts) expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(400);
  for (const { limit } of log.queries) expect(limit).toBeLessThanOrEqual(200);
});

it('writes a chat without messages', async () => {
  const { lines } = await exported(new FakeMessageLog());
  expect(lines).toMatchObject([
    { type: 'chat', id: '7' },
    { type: 'end', messages: 0 },
  ]);
});
