import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  databaseUrl,
  duration,
  group,
  isLoopbackHost,
  parsedUrl,
  retention,
  size,
  whatsappWsUrl,
  wholeNumber,
} from '../../../router/src/config/config-fields.ts';

/** The first sentence about a value; the parsed value if there is none. */
function outcome(field: z.ZodType, value: string): unknown {
  const result = field.safeParse(value);
  return result.success ? result.data : result.error.issues[0]?.message;
}

describe('isLoopbackHost', () => {
  it.each([
    ['localhost', true],
    ['LOCALHOST', true],
    ['127.8.8.8', true],
    ['::1', true],
    ['[::1]', true],
    ['0.0.0.0', false],
    ['::', false],
    ['128.0.0.1', false],
    ['127.0.0.1.evil.example', false],
    ['localhost.evil.example', false],
  ])('of %s is %s', (host, expected) => {
    expect(isLoopbackHost(host)).toBe(expected);
  });
});

describe('wholeNumber', () => {
  const sentence = 'must be a whole number from 5 to 20';

  it.each([
    ['5', 5],
    ['20', 20],
    ['007', 7],
    ['4', sentence],
    ['21', sentence],
    ['-5', sentence],
    ['+5', sentence],
    ['5.0', sentence],
    ['1e1', sentence],
    ['0x6', sentence],
    [' 6', sentence],
    ['', sentence],
    ['9'.repeat(400), sentence],
    ['٦', sentence],
  ])('of %j is %j', (value, expected) => {
    expect(outcome(wholeNumber(5, 20), value)).toBe(expected);
  });
});

describe('duration', () => {
  const sentence = 'must be a time from 100ms to 1d, with its unit (ms, s, m, h or d)';

  it.each([
    ['100ms', 100],
    ['030s', 30_000],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['25h', sentence],
    ['99ms', sentence],
    ['0', sentence],
    ['30000', sentence],
    ['1.5h', sentence],
    ['1 h', sentence],
    ['1S', sentence],
    ['1w', sentence],
    ['-1s', sentence],
    ['1e3s', sentence],
    ['', sentence],
  ])('of %j is %j', (value, expected) => {
    expect(outcome(duration('100ms', '1d'), value)).toBe(expected);
  });

  it('of 0 needs no unit', () => {
    expect(outcome(duration('0', '1h'), '0')).toBe(0);
  });
});

describe('size', () => {
  const sentence = 'must be a size from 10MB to 1TiB, with its unit (kB, MB, GB or TB)';

  it.each([
    ['10MB', 10_000_000],
    ['25mb', 25_000_000],
    ['20000kB', 20_000_000],
    ['1GB', 1_000_000_000],
    ['1GiB', 2 ** 30],
    ['1TiB', 2 ** 40],
    ['2TiB', sentence],
    ['9MB', sentence],
    ['25', sentence],
    ['25 MB', sentence],
    ['25M', sentence],
    ['0', sentence],
  ])('of %j is %j', (value, expected) => {
    expect(outcome(size('10MB', '1TiB'), value)).toBe(expected);
  });
});

describe('retention', () => {
  const sentence = 'must be 0 (for ever) or whole days from 1d to 3650d';

  it.each([
    ['0', 0],
    ['90d', 90],
    ['48h', 2],
    ['3650d', 3650],
    ['3651d', sentence],
    ['14', sentence],
    ['36h', sentence],
    ['-1', sentence],
    ['a week', sentence],
  ])('of %j is %j', (value, expected) => {
    expect(outcome(retention('How long replies are kept.', '30d'), value)).toBe(expected);
  });

  it('is the default when the variable is not set', () => {
    expect(retention('How long replies are kept.', '30d').parse(undefined)).toBe(30);
  });
});

describe('parsedUrl', () => {
  it('is undefined for text that is not a URL', () => {
    expect(parsedUrl('nowhere')).toBeUndefined();
    expect(parsedUrl('')).toBeUndefined();
    expect(parsedUrl('https://example.com/a')?.pathname).toBe('/a');
  });
});

describe('whatsappWsUrl', () => {
  it.each([
    'wss://10.0.0.7/ws/chat',
    'ws://[::1]:9000/',
    'ws://localhost:9000/ws/chat',
    'WSS://web.whatsapp.com/ws/chat',
  ])('accepts %s', (url) => {
    expect(outcome(whatsappWsUrl, url)).toBe(url);
  });

  it.each(['ws://10.0.0.7/ws/chat', 'ws://127.0.0.1.evil.example/', 'ws://127.0.0.1@evil.example/'])(
    'refuses the unencrypted connection to another machine %s',
    (url) => {
      expect(outcome(whatsappWsUrl, url)).toMatch(/^must be wss:\/\/ unless its host is this machine/);
    },
  );

  it.each(['https://example.com', 'nowhere', 'ws://'])('refuses %s, which is no WebSocket URL', (url) => {
    expect(outcome(whatsappWsUrl, url)).toMatch(/^must be a ws:\/\/ or wss:\/\/ URL/);
  });
});

describe('databaseUrl', () => {
  it.each(['postgres://db/wa2ai', 'postgresql://u:p%40ss@[::1]:5432/wa2ai?sslmode=require'])(
    'accepts %s',
    (url) => {
      expect(outcome(databaseUrl, url)).toBe(url);
    },
  );

  it.each(['mysql://db/wa2ai', 'http://db:5432', 'localhost:5432', 'db', ''])('refuses %j', (url) => {
    expect(outcome(databaseUrl, url)).toMatch(/^must be a PostgreSQL URL/);
  });
});

describe('group', () => {
  it('adds the name of the group and keeps what each field had', () => {
    const { PORT } = group('Service', { PORT: wholeNumber(1, 2).describe('A port.') });
    expect(z.toJSONSchema(z.object({ PORT }), { io: 'input' }).properties?.PORT).toMatchObject({
      group: 'Service',
      description: 'A port.',
      values: '1 to 2',
    });
    expect(outcome(PORT, '2')).toBe(2);
  });
});
