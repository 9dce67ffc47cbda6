import { beforeEach, expect, it } from 'vitest';
import { SendScopes } from '../../../../../router/src/providers/baileys/signal/send-scope.ts';
import { settle } from '../../../../support/fake-clock.ts';

const OWN = '34600000001:0@s.whatsapp.net';
const ANA = '34600000002:0@s.whatsapp.net';

let scopes: SendScopes;
let ended: string[];
let durable: Map<string, { now: () => void; never: (error: unknown) => void }>;

beforeEach(() => {
  scopes = new SendScopes((jid) => jid === OWN);
  ended = [];
  durable = new Map();
});

/** As Baileys encrypts for one device; the step is in line at once, and durable when the test says so. */
async function encrypt(jid: string, name = jid): Promise<void> {
  const stored = new Promise<void>((now, never) => durable.set(name, { now, never }));
  await scopes.encrypt(jid, async () => ({ result: name, durable: stored }));
  ended.push(name);
}

/** As Baileys sends: told of all devices, then all at once. */
const send = () =>
  scopes.run(async () => {
    scopes.expect([OWN]);
    scopes.expect([ANA]);
    await Promise.all([encrypt(OWN), encrypt(ANA)]);
  });

it('ends the own device at once and the recipient when both are durable', async () => {
  const sent = send();
  await settle();
  expect(ended).toEqual([OWN]);
  durable.get(ANA)?.now();
  await settle();
  expect(ended).toEqual([OWN]);
  durable.get(OWN)?.now();
  await sent;
  expect(ended).toEqual([OWN, ANA]);
});

it('waits for an own device that is encrypted for later than the recipient', async () => {
  let encryptOwn = () => {};
  const sent = scopes.run(async () => {
    scopes.expect([OWN]);
    scopes.expect([ANA]);
    const own = new Promise<void>((go) => {
      encryptOwn = () => go();
    }).then(() => encrypt(OWN));
    await Promise.all([encrypt(ANA), own]);
  });
  await settle();
  durable.get(ANA)?.now();
  await settle();
  expect(ended).toEqual([]);
  encryptOwn();
  await settle();
  durable.get(OWN)?.now();
  await sent;
  expect(ended).toEqual([OWN, ANA]);
});

it('fails the send when a step will never be durable', async () => {
  const sent = expect(send()).rejects.toThrow('no database');
  await settle();
  durable.get(ANA)?.now();
  durable.get(OWN)?.never(new Error('no database'));
  await sent;
});

it('lets the recipient go on when the own device cannot be encrypted for', async () => {
  const sent = scopes.run(async () => {
    scopes.expect([OWN]);
    const own = scopes.encrypt(OWN, () => Promise.reject(new Error('no session'))).catch(() => undefined);
    await Promise.all([own, encrypt(ANA)]);
  });
  await settle();
  durable.get(ANA)?.now();
  await sent;
  expect(ended).toEqual([ANA]);
});

it('outside of a send waits for the step itself, the own device too', async () => {
  const encrypted = encrypt(OWN);
  await settle();
  expect(ended).toEqual([]);
  durable.get(OWN)?.now();
  await encrypted;
  expect(ended).toEqual([OWN]);
});
