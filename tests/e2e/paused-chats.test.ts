import { expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';

const bed = TestBed.shared();

async function post(path: string, body: unknown = {}): Promise<void> {
  expect(await bed.service.api('POST', path, body)).toMatchObject({ status: 200 });
}

it('a paused chat gets no answer, also after a crash, until it is resumed; other chats are answered', async () => {
  const [ana, bo] = [bed.person(), bed.person()];
  await ana.say('Hello', { to: bed.phone });
  expect((await ana.nextReply()).text).toContain('Hello');
  const { body } = await bed.service.api('GET', `/api/chats?channelId=${ana.phone}`);
  const [chat] = body.data as Array<{ id: string; unanswered: number }>;
  expect(chat).toMatchObject({ channelId: ana.phone, unanswered: 0 });
  await post(`/api/chats/${chat?.id}/pause`, { minutes: 30, reason: 'Maria answers by hand.' });

  const during = await ana.say('Is somebody there?', { to: bed.phone });
  expect(await bed.untilTurnEnded(during)).toMatchObject({
    state: 'ignored',
    reason: 'chat-paused',
    text: 'Is somebody there?',
  });
  await bed.service.end('SIGKILL');
  await bed.restartService();
  const afterCrash = await ana.say('Still there?', { to: bed.phone });
  expect(await bed.untilTurnEnded(afterCrash)).toMatchObject({ state: 'ignored', reason: 'chat-paused' });
  // A person of the operator writes through the API.
  await bed.service.api('POST', '/api/messages', { channelId: ana.phone, text: 'Maria here.' });
  expect((await ana.nextReply()).text).toBe('Maria here.');
  await bo.say('Hi', { to: bed.phone });
  expect((await bo.nextReply()).text).toContain('Hi');

  await post(`/api/chats/${chat?.id}/resume`);
  await ana.say('Thank you', { to: bed.phone });
  expect((await ana.nextReply()).text).toContain('Thank you');
  const listed = await bed.service.api('GET', `/api/chats/${chat?.id}/messages`);
  const texts = (listed.body.data as Array<{ direction: string; text: string }>).map(
    ({ direction, text }) => `${direction === 'incoming' ? '<' : '>'} ${text}`,
  );
  expect(texts.slice(1).filter((text) => !/^> .*Hello/s.test(text))).toEqual([
    '< Thank you',
    '> Maria here.',
    '< Still there?',
    '< Is somebody there?',
    '< Hello',
  ]);
});
