import type { Request } from 'express';
import { describe, expect, it } from 'vitest';
import { baseUrlOf, relativePath } from '../../../../router/src/infra/operations/mount.ts';

describe('baseUrlOf', () => {
  const PUBLIC = 'https://example.com/wa2ai';

  it.each([
    [{ host: 'wa2ai.example' }, 'http://wa2ai.example'],
    [{ host: 'wa2ai.example', 'x-forwarded-proto': 'https' }, 'https://wa2ai.example'],
    [{ host: 'example.com' }, PUBLIC],
    [{ host: '127.0.0.1:3000' }, 'http://127.0.0.1:3000'],
    [{ host: 'evil"><' }, 'http://localhost'],
    [{}, 'http://localhost'],
  ])('of %o is %s', (headers: Record<string, string>, url) => {
    expect(baseUrlOf({ get: (name: string) => headers[name] } as unknown as Request, PUBLIC)).toBe(url);
  });
});

describe('relativePath', () => {
  it.each(['/', '/rpc', '/api/routes', '/api/routes/', '/api/routes/7/test', '/api//routes'])(
    'leads from %s to the documentation, also behind a prefix',
    (path) => {
      for (const prefix of ['', '/wa2ai', '/a/b']) {
        const seen = new URL(`https://example.com${prefix}${path}`);
        const found = new URL(relativePath({ path }, '/docs/api.md#x'), seen);
        expect(found.href).toBe(`https://example.com${prefix}/docs/api.md#x`);
      }
    },
  );
});
