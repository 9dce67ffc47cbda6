import { type BinaryNode, initAuthCreds } from '@whiskeysockets/baileys';
import { beforeEach, describe, expect, it } from 'vitest';
import type { AccountStatus } from '../../../../../router/src/core/ports/chat-provider.ts';
import { AccountStatusTracker } from '../../../../../router/src/providers/baileys/account/account-status.ts';
import { type PairBy, Pairing } from '../../../../../router/src/providers/baileys/account/pairing.ts';
import { MemoryAccountStore } from '../../../../doubles/memory-account-store.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';

let clock: FakeClock;
let tracker: AccountStatusTracker;
let asked: string[];
let status: () => AccountStatus;

beforeEach(() => {
  clock = new FakeClock();
  asked = [];
  tracker = new AccountStatusTracker({
    accountId: 'main',
    store: new MemoryAccountStore(),
    onChange: () => undefined,
    version: () => undefined,
    problems: () => [],
    clock,
    log: recordingLog(),
  });
  status = () => tracker.status();
});

/** A socket of an account without a phone, and its codes. */
function codesOf(by: PairBy, creds = initAuthCreds()) {
  const stanzas: BinaryNode[] = [];
  const ends: Array<Error | undefined> = [];
  const state = { isLinked: false, saves: 0, ends };
  const socket = {
    ev: { emit: () => true },
    requestPairingCode: async (phone: string) => {
      asked.push(phone);
      return `CODE${asked.length}`;
    },
    sendNode: async (node: BinaryNode) => void stanzas.push(node),
    end: async (error: Error | undefined) => void ends.push(error),
  };
  const auth = {
    creds,
    isLinked: () => state.isLinked,
    saveCreds: () => {
      state.saves += 1;
    },
  };
  const codes = new Pairing(tracker, clock, recordingLog(), by).codesOf(socket, auth);
  const refs = ['one', 'two'].map((ref) => ({ tag: 'ref', attrs: {}, content: Buffer.from(ref) }));
  const begin = async () => {
    void codes.pairDevice({
      tag: 'iq',
      attrs: { id: '7' },
      content: [{ tag: 'pair-device', attrs: {}, content: refs }],
    });
    await settle();
  };
  return { codes, begin, stanzas, state, creds };
}

/** The parts of the QR text that is shown. */
function shownQr() {
  const [ref, noiseKey, identityKey, secret, platform] = (status().qr ?? '#').split('#')[1]?.split(',') ?? [];
  return { ref, noiseKey, identityKey, secret, platform };
}

const notification = (child: string): BinaryNode => ({
  tag: 'notification',
  attrs: { id: '8', from: '@s.whatsapp.net', type: 'companion_reg_refresh' },
  content: [{ tag: child, attrs: {} }],
});

describe('pairing by QR', () => {
  it('shows each code with its expiry, the first for a minute, later ones for 20 s, and ends the connection', async () => {
    const { begin, stanzas, state, creds } = codesOf({ method: 'qr' });
    await begin();
    expect(stanzas).toEqual([{ tag: 'iq', attrs: { to: '@s.whatsapp.net', type: 'result', id: '7' } }]);
    expect(status()).toMatchObject({ state: 'pairing', expiresAtMs: clock.now() + 60_000 });
    expect(shownQr()).toEqual({
      ref: 'one',
      noiseKey: Buffer.from(creds.noiseKey.public).toString('base64'),
      identityKey: Buffer.from(creds.signedIdentityKey.public).toString('base64'),
      secret: creds.advSecretKey,
      platform: '1',
    });
    await clock.advanceMs(60_000);
    expect(shownQr().ref).toBe('two');
    expect(status().expiresAtMs).toBe(clock.now() + 20_000);
    await clock.advanceMs(20_000);
    expect(state.ends).toMatchObject([{ message: 'QR refs attempts ended', output: { statusCode: 408 } }]);
  });

  it('shows no further code after its end', async () => {
    const { begin, codes, state } = codesOf({ method: 'qr' });
    await begin();
    codes.end();
    tracker.set({ state: 'connecting' });
    await clock.advanceMs(200_000);
    await codes.refresh(notification('companion_reg_refresh'));
    expect(status().qr).toBeUndefined();
    expect(state.ends).toEqual([]);
  });

  it.each(['companion_reg_refresh', 'pair-device-rotate-qr'])(
    'shows the code with a new secret when WhatsApp retires it with %s',
    async (child) => {
      const { begin, codes, stanzas, state } = codesOf({ method: 'qr' });
      await begin();
      await clock.advanceMs(5_000);
      const before = { ...shownQr(), expiresAtMs: status().expiresAtMs };
      await codes.refresh(notification(child));
      const { secret, ...after } = { ...shownQr(), expiresAtMs: status().expiresAtMs };
      expect({ ...after, secret: before.secret }).toEqual(before);
      expect(secret).not.toBe(before.secret);
      expect(Buffer.from(secret ?? '', 'base64')).toHaveLength(32);
      expect(state.saves).toBe(1);
      expect(stanzas.at(-1)).toEqual({
        tag: 'ack',
        attrs: { id: '8', to: '@s.whatsapp.net', class: 'notification', type: 'companion_reg_refresh' },
      });
    },
  );

  it.each(['a linked account', 'a phone that has the secret', 'an unknown child'])(
    'keeps the secret of %s',
    async (what) => {
      const { begin, codes, state, creds } = codesOf({ method: 'qr' });
      await begin();
      const { advSecretKey } = creds;
      state.isLinked = what === 'a linked account';
      creds.registered = what === 'a phone that has the secret';
      await codes.refresh(notification(what === 'an unknown child' ? 'other' : 'companion_reg_refresh'));
      expect(creds.advSecretKey).toBe(advSecretKey);
      expect(state.saves).toBe(0);
    },
  );
});

describe('pairing by code', () => {
  it('requests one code per connection, and shows no QR', async () => {
    const { begin, codes, creds } = codesOf({ method: 'code', phone: '34600000001' });
    await begin();
    await clock.advanceMs(60_000);
    expect(asked).toEqual(['34600000001']);
    expect(status()).toMatchObject({ state: 'pairing', pairingCode: 'CODE1' });
    const { advSecretKey } = creds;
    await codes.refresh(notification('companion_reg_refresh'));
    expect(creds.advSecretKey).not.toBe(advSecretKey);
    expect(status().qr).toBeUndefined();
  });

  it('leaves the ack of a notification to Baileys, which knows the account by then', async () => {
    const { codes, stanzas } = codesOf(
      { method: 'code', phone: '34600000001' },
      { ...initAuthCreds(), me: { id: '34600000001@s.whatsapp.net' } },
    );
    await codes.acknowledge(notification('companion_reg_refresh'));
    expect(stanzas).toEqual([]);
  });
});

describe('waiting for a code', () => {
  it('ends when a code is shown', async () => {
    const pairing = new Pairing(tracker, clock, recordingLog(), { method: 'qr' });
    pairing.show();
    const shown = pairing.untilCode();
    await codesOf({ method: 'qr' }).begin();
    expect(await shown).toMatchObject({ qr: expect.stringContaining('#one,') });
  });

  it('ends when no code will come, and after 20 s', async () => {
    const pairing = new Pairing(tracker, clock, recordingLog(), { method: 'qr' });
    tracker.set({ state: 'waiting', reason: 'no network', retryAtMs: 1 });
    expect(await pairing.untilCode()).toMatchObject({ state: 'waiting' });
    pairing.show();
    const late = pairing.untilCode();
    await clock.untilSleeping();
    await clock.advanceMs(20_000);
    expect(await late).toMatchObject({ state: 'pairing' });
  });
});
