import { describe, expect, it } from 'vitest';
import type { IncomingMessage } from '../../../../../router/src/core/models.ts';
import { say } from '../../../../../router/src/core/phrases.ts';
import {
  bodyOf,
  bodyProblems,
  hasFile,
  hasLink,
} from '../../../../../router/src/infra/agents/webhook/webhook-body.ts';

const message: IncomingMessage = {
  id: '3EB0AA',
  accountId: 'default',
  from: '5491112345678@s.whatsapp.net',
  channelId: '120363@g.us',
  text: 'hello {{name}}',
  timestamp: new Date('2026-01-02T03:04:05.000Z'),
  isGroup: true,
  pushName: 'Ana',
  mentions: [{ id: '1@lid', tag: '@1' }],
};
const media = { kind: 'image' as const, mimeType: 'image/png' };

describe('bodyOf', () => {
  it('has every value without a template', () => {
    expect(bodyOf(undefined, { message, replyToken: 'token' })).toEqual({
      event: 'message',
      messageId: '3EB0AA',
      chatInput: 'hello {{name}}',
      sessionId: '5491112345678_120363',
      channelId: '120363@g.us',
      from: '5491112345678@s.whatsapp.net',
      name: 'Ana',
      text: 'hello {{name}}',
      number: '5491112345678',
      lid: null,
      isGroup: true,
      subject: null,
      language: 'en',
      kind: 'text',
      quotedText: null,
      quotedFrom: null,
      mentions: [{ id: '1@lid', tag: '@1', name: null }],
      editOf: null,
      card: null,
      isTranscript: false,
      context: null,
      media: null,
      timestamp: '2026-01-02T03:04:05.000Z',
      replyToken: 'token',
    });
  });

  it('has null for what is absent', () => {
    const bare = { ...message, pushName: undefined, isGroup: undefined };
    expect(bodyOf(undefined, { message: bare })).toMatchObject({
      name: null,
      isGroup: false,
      replyToken: null,
    });
  });

  it('contains the file of the message', () => {
    const file = new Uint8Array([1, 2, 3]);
    const named = { ...media, kind: 'document' as const, fileName: 'a.pdf', sizeBytes: 9 };
    expect(bodyOf(undefined, { message: { ...message, media: named }, file })).toMatchObject({
      media: { kind: 'document', mimeType: 'image/png', fileName: 'a.pdf', sizeBytes: 3, data: 'AQID' },
    });
    expect(bodyOf('{{media}}', { message: { ...message, media } })).toEqual({
      kind: 'image',
      mimeType: 'image/png',
      fileName: null,
      sizeBytes: null,
      data: null,
      url: null,
    });
  });

  it('fills placeholders with values of their type, alone, and as text in a longer text', () => {
    const template = {
      question: '{{text}}',
      group: '{{ isGroup }}',
      people: '{{mentions}}',
      quoted: '{{quotedText}}',
      line: '{{name}} ({{phone}}): {{isGroup}}{{quotedText}}',
      list: ['{{accountId}}', 7, null, true],
      plain: 'no placeholder',
    };
    expect(bodyOf(template, { message })).toEqual({
      // A placeholder in a person's text is not replaced.
      question: 'hello {{name}}',
      group: true,
      people: [{ id: '1@lid', tag: '@1', name: null }],
      quoted: null,
      line: 'Ana (5491112345678): true',
      list: ['default', 7, null, true],
      plain: 'no placeholder',
    });
  });

  it('fills unknown placeholders with nothing, also those named as parts of objects', () => {
    expect(bodyOf(['{{nothing}}', 'a{{constructor}}b', '{{__proto__}}'], { message })).toEqual([
      null,
      'ab',
      null,
    ]);
  });
});

describe('hasFile', () => {
  it.each([
    [undefined, true],
    [{ a: ['{{media}}'] }, true],
    [{ a: 'data:{{mediaType}};base64,{{mediaData}}' }, true],
    [{ a: '{{text}} {{fileName}}' }, false],
  ])('of %j is %s', (template, expected) => {
    expect(hasFile(template)).toBe(expected);
  });
});

describe('bodyProblems', () => {
  it.each([
    [{ a: '{{text}}', b: ['{{ name }} says {{text}}'], c: 1, d: 'a } b { c' }, []],
    [{ a: '{{txet}}' }, [/^uses \{\{txet\}\}; the placeholders are event, messageId, chatInput, /]],
    [{ a: '{{constructor}}' }, [/^uses \{\{constructor\}\}/]],
    [{ a: 'x {{media}}' }, ['puts {{media}} into other text; use it alone']],
    [['{{text'], ["has '{{text' without }}"]],
    [{ a: `{{${'x'.repeat(100)}}}` }, [/^uses \{\{x{58}…; /]],
  ])('of %j', (template, messages) => {
    expect(bodyProblems(template)).toEqual(
      messages.map((message) => ({
        field: 'body',
        said: expect.objectContaining({
          sentence: message instanceof RegExp ? expect.stringMatching(message) : message,
        }),
      })),
    );
  });

  it('finds a template that is nested too deeply', () => {
    let deep: unknown = '{{text}}';
    for (let depth = 0; depth < 40; depth++) deep = [deep];
    expect(bodyProblems(deep)).toEqual([{ field: 'body', said: say('field.depth', { levels: 32 }) }]);
  });
});

describe('a link to the file', () => {
  const withFile = { ...message, media };
  const fileUrl = 'https://wa2ai.test/api/media/x';

  it('is in the default body, and at its placeholder', () => {
    expect(bodyOf(undefined, { message: withFile, fileUrl })).toMatchObject({ media: { url: fileUrl } });
    expect(bodyOf(undefined, { message: withFile })).toMatchObject({ media: { url: null } });
    expect(bodyOf({ at: '{{mediaUrl}}' }, { message: withFile, fileUrl })).toEqual({ at: fileUrl });
    expect(bodyOf({ at: '{{mediaUrl}}' }, { message })).toEqual({ at: null });
  });

  it('needs no bytes of the file', () => {
    const bodies = [
      undefined,
      { at: '{{media}}' },
      { at: '{{mediaUrl}}' },
      { at: '{{mediaData}}' },
      { at: '{{text}}' },
    ];
    expect(bodies.map(hasLink)).toEqual([true, true, true, false, false]);
    expect(bodies.map(hasFile)).toEqual([true, true, false, true, false]);
  });
});
