import { describe, expect, it } from 'vitest';
import { formatForTerminal } from '../../../../router/src/infra/logging/log-output.ts';

describe('formatForTerminal', () => {
  it('prints the event, then its fields, without those that pino prints', () => {
    const line = {
      level: 'info',
      time: 1,
      mod: 'turns',
      msg: 'reply sent',
      messageId: '7',
      chats: ['a', 'b c'],
    };
    expect(formatForTerminal(line)).toBe('turns: reply sent  messageId=7  chats=[a, "b c"]');
  });

  it('prints an error of wa2ai as its sentence and code, without a stack', () => {
    const err = {
      message: 'Cannot connect.',
      code: 'STORAGE_UNAVAILABLE',
      disposition: 'retry',
      stack: 'at x',
    };
    expect(formatForTerminal({ msg: 'failed', err })).toBe(
      'failed  error="Cannot connect."  code=STORAGE_UNAVAILABLE',
    );
  });

  it('prints the stack of an unexpected error on separate lines', () => {
    const err = { message: 'boom', stack: 'Error: boom\n    at x' };
    expect(formatForTerminal({ msg: 'failed', err })).toBe('failed  error=boom\nError: boom\n    at x');
  });

  it('prints an error that is not an object, and quotes values that contain = or quotes', () => {
    expect(formatForTerminal({ msg: 'm', err: 'odd', a: 'x=1', b: 'say "x"', c: { d: 1 } })).toBe(
      'm  a="x=1"  b="say \\"x\\""  c={"d":1}  error=odd',
    );
  });
});
