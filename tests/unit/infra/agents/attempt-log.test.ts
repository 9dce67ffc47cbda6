import { expect, it } from 'vitest';
import { attemptLog } from '../../../../router/src/infra/agents/attempt-log.ts';
import { aMessage } from '../../../support/adk-requests.ts';
import { recordingLog } from '../../../support/quiet-log.ts';

it('prefers the log of the turn and adds nothing to it', () => {
  const turn = recordingLog();
  expect(attemptLog(recordingLog(), aMessage(), { log: turn })).toBe(turn);
});

it("names WhatsApp's message id in the log of the client", () => {
  const own = recordingLog();
  attemptLog(own, aMessage({ id: 'W1' }), {})?.info({ n: 1 }, 'event');
  expect(own.lines).toEqual([{ level: 'info', fields: { waMessageId: 'W1', n: 1 }, message: 'event' }]);
});

it('is undefined without any log', () => {
  expect(attemptLog(undefined, aMessage(), {})).toBeUndefined();
});
