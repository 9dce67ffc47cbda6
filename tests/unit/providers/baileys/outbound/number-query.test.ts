import type { BinaryNode } from '@whiskeysockets/baileys';
import { describe, expect, it } from 'vitest';
import { askAboutNumber } from '../../../../../router/src/providers/baileys/outbound/sender.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

const node = (tag: string, attrs: Record<string, string> = {}, content: BinaryNode[] = []): BinaryNode => ({
  tag,
  attrs,
  content,
});
const answer = (contact: BinaryNode[], result: BinaryNode[] = []) =>
  node('iq', { type: 'result' }, [
    node('usync', {}, [
      node('result', {}, result),
      node('list', {}, contact.length ? [node('user', {}, contact)] : []),
    ]),
  ]);
const error = node('error', { code: '429' });

describe('an answer of WhatsApp about a number', () => {
  it.each([
    ['an account', answer([node('contact', { type: 'in' })]), true],
    ['no account', answer([node('contact', { type: 'out' })]), false],
    ['a word that is not known', answer([node('contact', { type: 'invalid' })]), false],
    ['a list without the number', answer([]), false],
    ['an error of the number', answer([node('contact', {}, [error])]), undefined],
    ['an error of the query', answer([], [node('contact', {}, [error])]), undefined],
    ['no list', node('iq', { type: 'result' }, [node('usync')]), undefined],
    ['nothing', node('iq', { type: 'result' }), undefined],
  ])('with %s', async (_, stanza, expected) => {
    const socket = { generateMessageTag: () => 'tag', query: async () => stanza };
    const asked = askAboutNumber('34600000001', socket as never, new FakeClock());
    expect(await asked.catch(() => undefined)).toBe(expected);
  });
});

describe('askAboutNumber', () => {
  it('asks for the contact of one number', async () => {
    const sent: BinaryNode[] = [];
    const socket = {
      generateMessageTag: () => 'tag',
      query: async (stanza: BinaryNode) => {
        sent.push(stanza);
        return answer([node('contact', { type: 'in' })]);
      },
    };
    expect(await askAboutNumber('34600000001', socket as never, new FakeClock())).toBe(true);
    expect(JSON.stringify(sent)).toContain('"content":"+34600000001"');
    expect(sent[0]?.attrs).toMatchObject({ xmlns: 'usync', type: 'get' });
  });

  it.each([
    ['an error', async () => Promise.reject(new Error('rate-overlimit'))],
    ['something else', async () => node('iq')],
  ])('rejects with LOOK_UP_FAILED after %s', async (_, query) => {
    const socket = { generateMessageTag: () => 'tag', query };
    await expect(askAboutNumber('1', socket as never, new FakeClock())).rejects.toMatchObject({
      code: 'LOOK_UP_FAILED',
      disposition: 'retry',
    });
  });

  it('rejects when no answer comes in ten seconds', async () => {
    const clock = new FakeClock();
    const socket = { generateMessageTag: () => 'tag', query: () => new Promise(() => undefined) };
    const asked = askAboutNumber('1', socket as never, clock);
    const failed = expect(asked).rejects.toMatchObject({ code: 'LOOK_UP_FAILED' });
    await clock.advanceMs(10_000);
    await failed;
  });
});
