import { describe, expect, it } from 'vitest';
import { jidHash } from '../../../../../router/src/core/chat-id.ts';
import { createBaileysLogger } from '../../../../../router/src/providers/baileys/connection/open-socket.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';

function setup() {
  const log = recordingLog();
  return { logger: createBaileysLogger(log, 'main'), lines: log.lines };
}

describe('the log of Baileys', () => {
  it('is reduced to its text, the error, the message id and its chat, at debug', () => {
    const { logger, lines } = setup();
    const secrets = { privateKey: 'secret', node: { attrs: { from: '34600000002@s.whatsapp.net' } } };
    logger.error(
      { err: new Error('Bad MAC'), key: { id: '3EB0A', remoteJid: 'a@lid' }, ...secrets },
      'failed',
    );
    expect(lines).toEqual([
      {
        level: 'debug',
        message: 'Baileys error',
        fields: {
          baileysMessage: 'failed',
          error: 'Bad MAC',
          waMessageId: '3EB0A',
          jidHash: jidHash('main', 'a@lid'),
        },
      },
    ]);
  });

  it.each<[string, unknown, string | undefined, string]>([
    ['a text without fields', 'timed out', undefined, 'timed out'],
    ['fields without a text', { error: 'no Error' }, undefined, 'Baileys'],
    ['nothing', undefined, undefined, 'Baileys'],
    ['null and a text', null, 'failed', 'failed'],
    ['an id that is not text', { key: { id: 7 } }, 'failed', 'failed'],
  ])('accepts %s', (_, fields, message, baileysMessage) => {
    const { logger, lines } = setup();
    logger.warn(fields, message);
    expect(lines[0]?.fields).toEqual({
      baileysMessage,
      error: undefined,
      waMessageId: undefined,
      jidHash: undefined,
    });
  });

  it('takes the error under either name', () => {
    const { logger, lines } = setup();
    logger.warn({ error: new Error('closed') }, 'failed');
    expect(lines[0]?.fields.error).toBe('closed');
  });

  it('writes nothing below warn, and has that level so that Baileys prepares nothing', () => {
    const { logger, lines } = setup();
    for (const level of ['trace', 'debug', 'info'] as const) logger[level]({ key: { id: 'A' } }, 'noise');
    expect([logger.level, lines]).toEqual(['warn', []]);
  });

  it('drops the bindings of a child, which have keys too', () => {
    const { logger, lines } = setup();
    logger.child({ creds: 'secret' }).warn({}, 'failed');
    expect(JSON.stringify(lines)).not.toContain('secret');
    expect(lines).toHaveLength(1);
  });
});
