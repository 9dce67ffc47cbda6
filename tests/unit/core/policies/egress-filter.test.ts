import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { filterEgress } from '../../../../router/src/core/policies/egress-filter.ts';

const join = (...parts: string[]) => parts.join('');

describe('filterEgress', () => {
  it.each([
    ['reasoning', '<think>The user wants\na pizza.</think>\n\nWhich pizza?', 'Which pizza?'],
    ['reasoning', 'secret thoughts</think>Hello', 'Hello'],
    ['reasoning', 'Hello <thinking>never closed', 'Hello'],
    [
      'private-key',
      `Key:\n${join('-----BEGIN RSA', ' PRIVATE KEY-----')}\nMIIE\n-----END RSA PRIVATE KEY-----\nok`,
      'Key:\n[removed]\nok',
    ],
    ['secret', join('use sk-', 'abcdefghijklmnopqrstuvwx1234 now'), 'use [removed] now'],
    ['secret', join('AKIA', 'IOSFODNN7EXAMPLE'), ''],
    ['secret', join('my ghp_', 'a'.repeat(36)), 'my [removed]'],
    ['secret', 'Authorization: Bearer abcdefghijklmnop123456', 'Authorization: Bearer [removed]'],
    ['secret', 'set API_KEY=abc123def456ghi789', 'set API_KEY=[removed]'],
    ['secret', 'postgres://admin:hunter2@db.example.com/x', 'postgres://[removed]@db.example.com/x'],
    [
      'stack-trace',
      'It broke.\nTraceback (most recent call last):\n  File "/x/a.py", line 3, in run\n    boom()\nValueError: no\nSorry.',
      'It broke.\nSorry.',
    ],
    [
      'stack-trace',
      'TypeError: x is not a function\n    at run (file:///x/a.js:3:9)\n    at node:internal/main:22:1\nTry again.',
      'Try again.',
    ],
    [
      'stack-trace',
      'Exception in thread "main" java.lang.Error: no\n\tat com.a.B.c(B.java:12)\n\tat com.a.D.e(D.java:1)\n',
      '',
    ],
    ['file-path', 'saved in /home/ana/reports/march.txt today', 'saved in [removed] today'],
    ['file-path', String.raw`see C:\Users\ana\Desktop\a.txt`, 'see [removed]'],
    ['private-address', 'open http://192.168.1.20:8000/admin?x=1 now', 'open [removed] now'],
    ['private-address', 'the service at 10.0.0.7:5432 is down', 'the service at [removed] is down'],
    ['private-address', 'connect to localhost:3000', 'connect to [removed]'],
    ['private-address', 'http://db.prod.internal/x', ''],
  ])('removes %s from %j', (kind, text, rest) => {
    const filtered = filterEgress(text);
    expect(filtered.text).toBe(rest);
    expect(filtered.removed.map((removed) => removed.kind)).toContain(kind);
    expect(filterEgress(rest)).toEqual({ text: rest, removed: [] });
  });

  it.each([
    'Hello! How can I help?',
    'Version 10.0.0.1 is out, v10.1.2.3 follows',
    'Call +34 600 000 000 or write to ana@example.com',
    'The public server is at https://example.com/home/ana and 8.8.8.8',
    'either/or, and/or, 1/2, TCP/IP',
    'I think you meet at the station at 10:30.',
    '- look at the map\n- meet at (Plaza Mayor)',
    'Use a bearer token. Your password must have 12 characters.',
    'tx 0x5f2c1d0e8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d',
    'task-1234567890-abcdefghijkl and disk-usage-of-the-last-week-was-low',
  ])('keeps %j', (text) => {
    expect(filterEgress(text)).toEqual({ text, removed: [] });
  });

  it('changes nothing in its own result', () => {
    const piece = fc.constantFrom(
      ...[
        '<think>',
        '</think>',
        'Traceback (most recent call last):\n',
        '  at x (a:1)\n',
        'Error: no\n',
        '10.1.1.1',
        ':80',
        ' ',
        '\n',
        'word',
        'http://',
        '/home/a/b',
        'Bearer abcdefghijklmnop1234',
      ],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const { text } = filterEgress(pieces.join(''));
        expect(filterEgress(text).text).toBe(text);
      }),
    );
  });

  it('says how often a kind was removed', () => {
    expect(filterEgress('10.0.0.1 and 10.0.0.2, plus 127.0.0.1').removed).toEqual([
      { kind: 'private-address', count: 3 },
    ]);
  });
});
