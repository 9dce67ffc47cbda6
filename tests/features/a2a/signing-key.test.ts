import { createHash, createPublicKey, verify } from 'node:crypto';
import { expect, it } from 'vitest';
import { signingKey } from '../../../router/src/features/a2a/push-updates.ts';
import { MemorySettings } from '../../doubles/memory-settings.ts';

const cipher = {
  sealText: (text: string) => `sealed ${text}`,
  openText: (text: string) => text.slice('sealed '.length),
};

it('signs bodies with one key of all nodes, which is stored encrypted', async () => {
  const settings = new MemorySettings();
  const [first, second] = [await signingKey(settings, cipher), await signingKey(settings, cipher)];
  expect(second.keySet()).toEqual(first.keySet());
  expect(JSON.stringify(await settings.get('a2a-push-key'))).toContain('sealed ');
  const [header = '', claims = '', signature = ''] = first.tokenFor('{"a":1}', 1_700_000_000_500).split('.');
  const [jwk] = second.keySet().keys;
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as unknown;
  expect(read(header)).toEqual({ alg: 'ES256', typ: 'JWT', kid: jwk?.kid });
  expect(read(claims)).toMatchObject({
    iat: 1_700_000_000,
    request_body_sha256: createHash('sha256').update('{"a":1}').digest('hex'),
  });
  const key = { key: createPublicKey({ key: jwk ?? {}, format: 'jwk' }), dsaEncoding: 'ieee-p1363' as const };
  const isSigned = (text: string) =>
    verify('sha256', Buffer.from(text), key, Buffer.from(signature, 'base64url'));
  expect(isSigned(`${header}.${claims}`)).toBe(true);
  expect(isSigned(`${header}.${claims}x`)).toBe(false);
  expect(JSON.stringify(first.keySet())).not.toContain('"d"');
});

it('derives other secrets from it, the same on all nodes and different for each purpose', async () => {
  const settings = new MemorySettings();
  const [first, second] = [await signingKey(settings, cipher), await signingKey(settings, cipher)];
  expect(first.derive('a')).toHaveLength(32);
  expect(second.derive('a')).toEqual(first.derive('a'));
  expect(first.derive('b')).not.toEqual(first.derive('a'));
});
