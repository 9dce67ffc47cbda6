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
    ['secret', 'Bearer 550e8400-e29b-41d4-a716-446655440000', 'Bearer [removed]'],
    ['secret', 'Basic YWRtaW46cGFzc3dvcmQ=', 'Basic [removed]'],
    ['secret', '"Authorization": "Bearer abcdefghijklmnopqrst"', '"Authorization": "Bearer [removed]"'],
    ['secret', join('xox', 'b-1234567890-abcdef123456ghij7890'), ''],
    [
      'stack-trace',
      'Error: no\n    at async Promise.all (index 0)\n    at new Promise (<anonymous>)\n    at a.js:3:9\nOk.',
      'Ok.',
    ],
    [
      'stack-trace',
      'System.Exception: no\n   at X.Y.Run(String a) in /src/a.cs:line 3\n   at X.Y.Main()\nOk.',
      'Ok.',
    ],
    ['stack-trace', 'x.Exception\n\tat a.B.c(Native Method)\n\tat a.B.d(Unknown Source)\nOk.', 'Ok.'],
    ['file-path', 'in /app/server/index.js:12 and /data/.env', 'in [removed] and [removed]'],
    ['private-address', 'ask 10.0.0.7 or 172.16.4.4', 'ask [removed] or [removed]'],
    ['reasoning', 'Sure.\n[THINK]rude[/THINK]Hello', 'Sure.\nHello'],
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
    'Your basic responsibilities: basic straightforwardness.',
    'The bearer straightforwardly-presented-documents gets in, bearer certificates-2024-2025 too.',
    'Meet us\n  at 10:30\n  at Café Uno (Main Street 5)\n  at 18:45:00 (CET)\n  at the hall: 10:30',
    'Nos vemos\n  at Plaza (Sala 3)\n\tat Room B.12 (10:30)\n  at St. Mary (Dublin)',
    'PASSWORD: Sommer-2024-Gast and TOKEN: WELCOME-2024-11',
    'SECRET: Treffen-um-10:30-Uhr',
    'pip install scikit-learn, import sk-learn-1-4-2-documentation',
    'xoxo-hugs-and-kisses-to-you-all',
    'Das Vermögen beträgt 10.000.000.000 Euro, 192.168.000.000 Yen.',
    'Ring 10.20.30.40, see section 10.1.2.3 of the manual',
    'Open /app/settings/profile or /data/overview in the menu',
    'Die Grundlagen: Basic Grundkenntnisse, Basic Sprachkurse2024',
    'Besuchen Sie /root/cause/analysis im Kurs.',
    'قابلني في 10:30 at (المقهى)\n  at مقهى أونو (الشارع 5)',
    '明日\n  at 10:30\n  at 東京駅 (丸の内口)',
    'Приходите\n  at 10:30 (МСК)\n  at Кафе (ул. Ленина 5)',
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
