import { randomBytes } from 'node:crypto';
import { type BinaryNode, Curve, initAuthCreds } from '@whiskeysockets/baileys';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import type { PasskeyStatus } from '../../../../../router/src/core/ports/chat-provider.ts';
import {
  nextOf,
  PasskeyCeremony,
} from '../../../../../router/src/providers/baileys/account/passkey-ceremony.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';
import { Passkey, PhonePasskeyCeremony } from '../../../../whatsapp-emulator/passkey.ts';

type CeremonyEvent = Parameters<typeof nextOf>[1];

type CeremonyState = Parameters<typeof nextOf>[0];

const passkey = new Passkey();
const answer = JSON.parse(passkey.sign({ challenge: 'AAAA' }));
const primary = { publicKey: Curve.generateKeyPair().public, nonce: randomBytes(32) };

describe('the steps of linking with a passkey', () => {
  const event = fc.oneof(
    fc.constantFrom<CeremonyEvent>(
      { kind: 'requested', options: '{"challenge":"AAAA"}', advSecret: randomBytes(32) },
      { kind: 'answered', answer },
      {
        kind: 'ref-received',
        companion: { ref: 'r', keyPair: Curve.generateKeyPair(), nonce: randomBytes(32) },
      },
      { kind: 'continued', primary },
      { kind: 'nonce-received' },
      { kind: 'compared', isSame: true },
      { kind: 'paired' },
    ),
    fc.constantFrom<CeremonyEvent>(
      { kind: 'compared', isSame: false },
      { kind: 'failed', reason: 'It failed.' },
    ),
  );

  it('send the keys only after the owner has found the codes equal, give up once, and then stay as they are', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 30 }), (events) => {
        let state: CeremonyState = { step: 'none' };
        let gaveUp = 0;
        for (const each of events) {
          const before = state;
          const next = nextOf(state, each);
          for (const effect of next.effects) {
            if (effect.do === 'send-pairing-request') {
              expect([before.step, each]).toEqual(['compare', { kind: 'compared', isSame: true }]);
            }
            if (effect.do === 'give-up') gaveUp += 1;
          }
          if (before.step === 'failed' || before.step === 'linked') expect(next.state).toBe(before);
          state = next.state;
        }
        expect(gaveUp).toBe(state.step === 'failed' ? 1 : 0);
      }),
    );
  });

  it('keep the proof of the scanned code when WhatsApp asks again, and send none after a later request', () => {
    const asked = (state: CeremonyState) =>
      nextOf(state, { kind: 'requested', options: '{"challenge":"BBBB"}', advSecret: randomBytes(32) });
    const first = asked({ step: 'none' });
    expect(first.effects).toEqual([{ do: 'renew-secret' }]);
    expect(asked(first.state)).toEqual({ state: first.state, effects: [] });
    expect(asked({ step: 'finish' })).toMatchObject({
      state: { step: 'sign', handoffKey: undefined },
      effects: [],
    });
  });

  it('give up when the phone sends a key that is the same for everybody', () => {
    const companion = { ref: 'r', keyPair: Curve.generateKeyPair(), nonce: randomBytes(32) };
    const zero = { publicKey: new Uint8Array(32), nonce: randomBytes(32) };
    expect(nextOf({ step: 'phone', companion }, { kind: 'continued', primary: zero }).state.step).toBe(
      'failed',
    );
  });
});

/** A ceremony whose other side is the emulator's phone. */
function setup() {
  const creds = initAuthCreds();
  const scannedSecret = Buffer.from(creds.advSecretKey, 'base64');
  const phone = new PhonePasskeyCeremony(scannedSecret);
  const options = passkey.requestOptions();
  const steps: PasskeyStatus[] = [];
  const ends: string[] = [];
  const sent: string[] = [];
  const clock = new FakeClock();
  const server = { refuses: '', linked: undefined as ReturnType<typeof phone.read> | undefined };
  let identity = new Uint8Array();
  const query = async ({ content }: BinaryNode): Promise<BinaryNode> => {
    const [child] = content as BinaryNode[];
    const { tag = '', content: inner } = child ?? {};
    sent.push(tag);
    if (tag === server.refuses) throw new Error('bad-request');
    const result = (bytes?: Buffer): BinaryNode => ({
      tag: 'iq',
      attrs: {},
      content: bytes ? [{ tag, attrs: {}, content: bytes }] : [],
    });
    if (tag === 'ref') return result(Buffer.from('2@ref'));
    if (tag === 'passkey_request_options') return result(Buffer.from(JSON.stringify(options)));
    if (tag === 'passkey_prologue') {
      const bytes = (name: string) =>
        (inner as BinaryNode[]).find((each) => each.tag === name)?.content as Buffer;
      passkey.check(options, bytes('credential_id'), bytes('webauthn_assertion').toString());
      identity = new Uint8Array(
        phone.begin(bytes('prologue_payload'), bytes('pairing_handoff_proof'), '2@ref'),
      );
    }
    if (tag === 'companion_nonce') phone.open(inner as Buffer);
    if (tag === 'encrypted_pairing_request') server.linked = phone.read(inner as Buffer);
    return result();
  };
  const ceremony = new PasskeyCeremony({
    accountId: 'main',
    socket: { query } as never,
    auth: { creds, saveCreds: () => undefined },
    clock,
    log: recordingLog(),
    onStep: (step) => steps.push(step),
    onGivenUp: (reason) => ends.push(reason),
  });
  const notification = (tag: string, content: Uint8Array): BinaryNode => ({
    tag: 'notification',
    attrs: { from: '@s.whatsapp.net' },
    content: [{ tag, attrs: {}, content }],
  });
  const ask = () =>
    ceremony.requested(notification('passkey_request_options', Buffer.from(JSON.stringify(options))));
  const signed = async () => {
    await ask();
    ceremony.input({ answer: passkey.sign(options) });
    await settle();
  };
  const compared = async () => {
    await signed();
    ceremony.continued(notification('primary_ephemeral_identity', identity));
    await settle();
  };
  return {
    ceremony,
    creds,
    scannedSecret,
    phone,
    options,
    steps,
    ends,
    sent,
    clock,
    server,
    notification,
    ask,
    signed,
    compared,
  };
}

let given: ReturnType<typeof setup>;
beforeEach(() => {
  given = setup();
});

describe('PasskeyCeremony', () => {
  it('links: the phone shows the same code, and learns the keys and a new secret', async () => {
    const { ceremony, creds, phone, steps, server, scannedSecret, compared, clock, ends } = given;
    await compared();
    expect(steps.at(-1)).toEqual({ step: 'compare', code: phone.code });
    expect(phone.code).toMatch(/^[1-9A-HJ-NP-TV-Z]{8}$/);
    ceremony.input({ isSameCode: true });
    await settle();
    expect(server.linked).toEqual({
      noiseKey: Buffer.from(creds.noiseKey.public),
      identityKey: Buffer.from(creds.signedIdentityKey.public),
      advSecret: Buffer.from(creds.advSecretKey, 'base64'),
    });
    expect(server.linked?.advSecret).not.toEqual(scannedSecret);
    ceremony.paired();
    await clock.advanceMs(3_600_000);
    expect(ends).toEqual([]);
    expect(steps.map(({ step }) => step)).toEqual(['sign', 'phone', 'phone', 'phone', 'compare', 'finish']);
  });

  it('asks for the options when the notification has none', async () => {
    const { ceremony, notification, steps, options } = given;
    await ceremony.requested(notification('other', Buffer.from('x')));
    expect(steps).toEqual([{ step: 'sign', options: JSON.stringify(options) }]);
  });

  it('gives up when the codes differ, and sends no keys', async () => {
    const { ceremony, compared, sent, ends } = given;
    await compared();
    ceremony.input({ isSameCode: false });
    await settle();
    expect(ends).toEqual(['The codes on the page and on the phone differ, so nothing was linked.']);
    expect(sent).not.toContain('encrypted_pairing_request');
    expect(() => ceremony.input({ isSameCode: true })).toThrow(
      expect.objectContaining({ code: 'PASSKEY_NOT_ASKED' }),
    );
  });

  it.each(['ref', 'passkey_prologue', 'companion_nonce', 'encrypted_pairing_request'])(
    'gives up once when WhatsApp refuses %s',
    async (tag) => {
      const { ceremony, compared, server, ends } = given;
      server.refuses = tag;
      await compared();
      if (tag === 'encrypted_pairing_request') ceremony.input({ isSameCode: true });
      await settle();
      expect(ends).toEqual(['WhatsApp refused the passkey, or did not answer.']);
    },
  );

  it.each([
    ['sign', 300_000, 'The passkey was not used within 5 minutes.'],
    ['phone', 120_000, 'The phone did not continue within 2 minutes.'],
    ['compare', 120_000, 'The codes were not compared within 2 minutes.'],
    ['finish', 120_000, 'WhatsApp did not link the account within 2 minutes.'],
  ])('gives up when the step %s is late', async (step, limitMs, reason) => {
    const { ceremony, ask, signed, compared, clock, ends, steps } = given;
    if (step === 'sign') await ask();
    else if (step === 'phone') await signed();
    else await compared();
    if (step === 'finish') ceremony.input({ isSameCode: true });
    await settle();
    expect(steps.at(-1)?.step).toBe(step);
    await clock.advanceMs(limitMs - 1);
    expect(ends).toEqual([]);
    await clock.advanceMs(1);
    expect(ends).toEqual([reason]);
  });

  it.each<[string, (options: { challenge: string }) => string, RegExp]>([
    ['no JSON', () => 'hello', /not the answer/],
    ['another JSON', () => '{"id":"a"}', /not the answer/],
    [
      'another origin',
      (options) => passkey.sign(options, 'https://evil.example'),
      /ran on https:\/\/evil.example/,
    ],
    ['another request', () => passkey.sign({ challenge: 'AAAA' }), /earlier request/],
  ])('refuses an answer with %s, and takes the next one', async (_, answerTo, sentence) => {
    const { ceremony, ask, options, sent, ends } = given;
    await ask();
    expect(() => ceremony.input({ answer: answerTo(options) })).toThrow(
      expect.objectContaining({ code: 'PASSKEY_ANSWER', message: expect.stringMatching(sentence) }),
    );
    expect(sent).toEqual([]);
    ceremony.input({ answer: passkey.sign(options) });
    await settle();
    expect(sent).toEqual(['ref', 'passkey_prologue']);
    expect(ends).toEqual([]);
  });

  it.each([Buffer.from('junk'), Buffer.alloc(0)])(
    'gives up when the phone continues with %j',
    async (bytes) => {
      const { ceremony, signed, notification, ends } = given;
      await signed();
      ceremony.continued(notification('primary_ephemeral_identity', bytes));
      await settle();
      expect(ends).toEqual(['The phone continued in a form that wa2ai does not know.']);
    },
  );

  it('reports nothing after the end of its socket', async () => {
    const { ceremony, signed, clock, ends } = given;
    await signed();
    ceremony.end();
    await clock.advanceMs(3_600_000);
    expect(ends).toEqual([]);
    expect(() => ceremony.input({ isSameCode: true })).toThrow(/does not wait for this step/);
  });
});
