import { describe, expect, it } from 'vitest';
import { StorageUnavailableError } from '../../../../router/src/core/errors.ts';
import { LogOutput } from '../../../../router/src/infra/logging/log-output.ts';
import { createLogger, LogLevel } from '../../../../router/src/infra/logging/logger.ts';

function setup(format: 'json' | 'pretty') {
  let text = '';
  const write = (_fd: number, bytes: Uint8Array) => {
    text += Buffer.from(bytes).toString();
    return bytes.length;
  };
  const log = createLogger({ level: 'info', format, output: new LogOutput({ write }) });
  const lines = () => {
    log.flush();
    return text.split('\n').filter((line) => line !== '');
  };
  return { log, lines, messages: () => lines().map((line) => JSON.parse(line).msg as string) };
}

describe('LogLevel', () => {
  it('changes the level of a logger and of the children that it has', () => {
    let text = '';
    const write = (_fd: number, bytes: Uint8Array) => {
      text += Buffer.from(bytes).toString();
      return bytes.length;
    };
    const level = new LogLevel('info');
    const output = new LogOutput({ write });
    const log = createLogger({ level, format: 'json', output });
    const grandchild = log.child({ mod: 'turns' }).child({ messageId: '1' });
    level.set('debug');
    grandchild.debug('of a grandchild');
    log.child({ mod: 'new' }).debug('of a new child');
    level.set('error');
    for (const each of [log, grandchild]) each.warn('not logged');
    log.flush();
    const messages = text.split('\n').filter((line) => line !== '');
    expect(messages.map((line) => JSON.parse(line).msg)).toEqual(['of a grandchild', 'of a new child']);
  });
});

describe('createLogger', () => {
  it('throttles lines about an unavailable database, and no others', () => {
    const { log, messages } = setup('json');
    const child = log.child({ mod: 'turns' });
    const unavailable = new StorageUnavailableError({ sentence: 'The database is not reachable.' });
    for (let attempt = 0; attempt < 1_000; attempt++) {
      child.warn({ err: unavailable }, 'cannot read messages');
      child.warn({ err: new Error('from an agent') }, 'agent failed');
    }
    expect(messages().filter((message) => message === 'cannot read messages')).toHaveLength(10);
    expect(messages().filter((message) => message === 'agent failed')).toHaveLength(1_000);
  });

  it.each(['json', 'pretty'] as const)('redacts fields that contain secrets in the %s format', (format) => {
    const { log, lines } = setup(format);
    const secrets = { apiKey: 's3cret', password: 's3cret', headers: { authorization: 's3cret' } };
    log.info({ ...secrets, request: secrets }, 'request received');
    log.child({ ...secrets, account: secrets }).info('account added');
    const error = Object.assign(new Error('refused'), secrets);
    log.error({ err: error, cause: error }, 'request failed');
    expect(lines().join('\n')).toContain('request failed');
    expect(lines().join('\n')).toContain('[redacted]');
    expect(lines().join('\n')).not.toContain('s3cret');
  });

  it('names the level of a line in the json format', () => {
    const { log, lines } = setup('json');
    log.child({ mod: 'turns' }).warn({}, 'agent failed');
    log.info({}, 'reply sent');
    expect(lines().map((line) => JSON.parse(line).level)).toEqual(['warn', 'info']);
  });

  it('prints one line per event with fields as name=value for a terminal', () => {
    const { log, lines } = setup('pretty');
    log.child({ mod: 'turns' }).info({ messageId: '12', chat: 'a1b2', attempt: 1 }, 'reply sent');
    expect(lines()).toHaveLength(1);
    expect(lines()[0]).toMatch(/INFO.*: turns: reply sent {2}messageId=12 {2}chat=a1b2 {2}attempt=1$/);
  });

  it('prints an error of wa2ai as its sentence and code in the same line', () => {
    const { log, lines } = setup('pretty');
    log.warn(
      { err: new StorageUnavailableError({ sentence: 'The database is not reachable.' }) },
      'cannot read messages',
    );
    expect(lines()).toHaveLength(1);
    expect(lines()[0]).toMatch(
      /cannot read messages {2}error="The database is not reachable\." {2}code=STORAGE_UNAVAILABLE$/,
    );
  });

  it('prints the stack of an unexpected error', () => {
    const { log, lines } = setup('pretty');
    log.error({ err: new TypeError('x is undefined') }, 'request failed');
    expect(lines()[0]).toMatch(/request failed {2}error="x is undefined"$/);
    expect(lines()[1]).toContain('TypeError: x is undefined');
    expect(lines()[2]).toMatch(/^ +at /);
  });

  it('quotes values with spaces and shows lists and objects', () => {
    const { log, lines } = setup('pretty');
    log.info({ reason: 'two words', nodes: ['a', 'b'], totals: { sent: 1 }, empty: '' }, 'status');
    expect(lines()[0]).toMatch(
      /status {2}reason="two words" {2}nodes=\[a, b\] {2}totals=\{"sent":1\} {2}empty=""$/,
    );
  });
});
