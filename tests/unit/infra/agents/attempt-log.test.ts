import { expect, it } from 'vitest';
import { jidHash } from '../../../../router/src/core/chat-id.ts';
import { attemptLog } from '../../../../router/src/infra/agents/attempt-log.ts';
import { aMessage } from '../../../support/adk-requests.ts';
import { recordingLog } from '../../../support/quiet-log.ts';

it('prefers the log of the turn and adds nothing to it', () => {
  const turn = recordingLog();
  expect(attemptLog(recordingLog(), aMessage(), { log: turn })).toBe(turn);
});

it.each([
  ['of a person', { from: '1@s.whatsapp.net', channelId: '1' }, '1@s.whatsapp.net'],
  ['of a group', { from: '1@s.whatsapp.net', channelId: '5@g.us', isGroup: true }, '5@g.us'],
])("names WhatsApp's message id and the chat %s in the log of the client", (_case, message, jid) => {
  const own = recordingLog();
  attemptLog(own, aMessage({ id: 'W1', accountId: 'main', ...message }), {})?.info({ n: 1 }, 'event');
  const fields = { waMessageId: 'W1', jidHash: jidHash('main', jid), n: 1 };
  expect(own.lines).toEqual([{ level: 'info', fields, message: 'event' }]);
});

it('is undefined without any log', () => {
  expect(attemptLog(undefined, aMessage(), {})).toBeUndefined();
});
