import type { BinaryNode } from '@whiskeysockets/baileys';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  AheadDecryption,
  NotNowError,
} from '../../../../../router/src/providers/baileys/signal/ahead-decryption.ts';
import { settle } from '../../../../support/fake-clock.ts';

const ANA = '34600000002@s.whatsapp.net';
const BOB = '34600000003@s.whatsapp.net';
const GROUP = '120363000000000001@g.us';

let ahead: AheadDecryption;
let started: string[];
let underWay: Map<string, { resolve: (plaintext: Uint8Array) => void; reject: (error: unknown) => void }>;

beforeEach(() => {
  ahead = new AheadDecryption();
  started = [];
  underWay = new Map();
  ahead.use((_work, { ciphertext }) => {
    const name = Buffer.from(ciphertext).toString();
    started.push(name);
    return new Promise((resolve, reject) => underWay.set(name, { resolve, reject }));
  });
});

const enc = (type: string, name: string): BinaryNode => ({
  tag: 'enc',
  attrs: { type },
  content: Buffer.from(name),
});

/** A stanza reached the socket; its last ciphertext. */
function arrives(attrs: Record<string, string>, ...encs: BinaryNode[]): Uint8Array {
  ahead.arrived({ tag: 'message', attrs: { id: 'A', ...attrs }, content: encs });
  return encs.at(-1)?.content as Uint8Array;
}

const direct = (from: string, name: string) => arrives({ from }, enc('msg', name));
const done = (name: string) => underWay.get(name)?.resolve(Buffer.from(`read ${name}`));

describe('a head start', () => {
  it('is given to stanzas of different people at once, and to those of one in turn', async () => {
    direct(ANA, 'ana 1');
    direct(ANA, 'ana 2');
    direct(BOB, 'bob 1');
    await settle();
    expect(started).toEqual(['ana 1', 'bob 1']);
    done('ana 1');
    await settle();
    expect(started).toEqual(['ana 1', 'bob 1', 'ana 2']);
  });

  it('gives Baileys the plaintext when its turn comes', async () => {
    const ciphertext = direct(ANA, 'one');
    await settle();
    const taken = ahead.take(ciphertext);
    done('one');
    expect(await taken).toEqual(Buffer.from('read one'));
  });

  it('is not given to what Baileys takes up before it began', async () => {
    direct(ANA, 'one');
    const second = direct(ANA, 'two');
    await settle();
    expect(ahead.take(second)).toBeUndefined();
    ahead.ended(second, true);
    done('one');
    await settle();
    expect(started).toEqual(['one']);
  });

  it.each([
    ['two ciphertexts in a direct chat', { from: ANA }, [enc('msg', 'one'), enc('msg', 'two')]],
    ['what is no Signal message', { from: ANA }, [enc('msmsg', 'x')]],
  ])('is not given to %s', async (_, attrs, encs) => {
    arrives(attrs, ...encs);
    await settle();
    expect(started).toEqual([]);
  });

  it('is given to a group message with the sender key before it, one after the other', async () => {
    const attrs = { from: GROUP, participant: ANA };
    const text = arrives(attrs, enc('pkmsg', 'key'), enc('skmsg', 'text'));
    await settle();
    const taken = ahead.take(text);
    expect(started).toEqual(['key']);
    done('key');
    await settle();
    expect(started).toEqual(['key', 'text']);
    done('text');
    expect(await taken).toEqual(Buffer.from('read text'));
  });

  it('is given to group messages', async () => {
    arrives({ from: GROUP, participant: ANA }, enc('skmsg', 'hello all'));
    await settle();
    expect(started).toEqual(['hello all']);
  });
});

describe('what is left to Baileys', () => {
  it('goes before what its sender sent later', async () => {
    const odd = arrives({ from: GROUP, participant: ANA }, enc('msmsg', 'x'), enc('skmsg', 'first'));
    arrives({ from: GROUP, participant: ANA }, enc('skmsg', 'second'));
    await settle();
    expect(started).toEqual([]);
    ahead.ended(odd, true);
    await settle();
    expect(started).toEqual(['second']);
  });

  it('never holds anything up for good, though Baileys drops a stanza without a word', async () => {
    arrives({ from: GROUP, participant: ANA }, enc('msmsg', 'x'), enc('skmsg', 'dropped'));
    const second = arrives({ from: GROUP, participant: ANA }, enc('skmsg', 'second'));
    const third = arrives({ from: GROUP, participant: ANA }, enc('skmsg', 'third'));
    expect(ahead.take(second)).toBeUndefined();
    ahead.ended(second, true);
    await settle();
    expect(started).toEqual(['third']);
    done('third');
    expect(await ahead.take(third)).toEqual(Buffer.from('read third'));
  });

  it('is what could not be decrypted early, and its sender gets no head start until one was read', async () => {
    const first = direct(ANA, 'one');
    await settle();
    const taken = ahead.take(first);
    underWay.get('one')?.reject(new Error('Bad MAC'));
    await expect(taken).rejects.toThrow('Bad MAC');
    const second = direct(ANA, 'two');
    ahead.ended(first, false);
    await settle();
    expect(ahead.take(second)).toBeUndefined();
    ahead.ended(second, true);
    direct(ANA, 'three');
    await settle();
    expect(started).toEqual(['one', 'three']);
  });

  it('is what Baileys has to see first, without distrust', async () => {
    const first = direct(ANA, 'one');
    await settle();
    const taken = ahead.take(first);
    underWay.get('one')?.reject(new NotNowError());
    await expect(taken).rejects.toThrow(NotNowError);
    direct(ANA, 'two');
    await settle();
    expect(started).toEqual(['one']);
    ahead.ended(first, true);
    await settle();
    expect(started).toEqual(['one', 'two']);
  });
});
