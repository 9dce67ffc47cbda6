import { describe, expect, it } from 'vitest';
import { AgentProtocolError } from '../../../../../router/src/core/errors.ts';
import { readWebhookAnswer } from '../../../../../router/src/infra/agents/webhook/webhook-answer.ts';

const read = (body: string | Buffer, type = 'application/json', output?: string, more: object = {}) =>
  readWebhookAnswer(
    { headers: new Headers({ 'content-type': type, ...more }), body: Buffer.from(body) },
    output,
  );
const png = Buffer.from('png').toString('base64');

describe('readWebhookAnswer', () => {
  it.each([
    ['{"output":"a","text":"b"}', 'a'],
    ['{"text":"b","message":"c"}', 'b'],
    ['{"reply":"b"}', 'b'],
    ['{"response":"b"}', 'b'],
    ['{"message":"b"}', 'b'],
    ['{"output":"","text":null,"reply":" ","response":"b"}', 'b'],
    ['[{"output":"a"},{"output":"b"}]', 'a'],
    ['["a","b"]', 'a'],
    ['[[{"text":"a"}]]', 'a'],
    ['"a"', 'a'],
    ['42', '42'],
    ['{"output":42}', '42'],
    ['{"output":false}', 'false'],
    ['\ufeff{"output":"a"}', 'a'],
    ['{"message":{"content":"x"},"text":"a"}', 'a'],
  ])('reads %s as %s', (body, text) => {
    expect(read(body)).toEqual({ text });
    expect(read(body, 'text/plain')).toEqual({ text });
  });

  it.each(['', '  \n', '{}', '[]', 'null', '{"output":""}', '{"text":null}', '""'])(
    'reads %j as silence',
    (body) => {
      expect(read(body)).toEqual({});
    },
  );

  it('reads plain text as it is', () => {
    expect(read('Hello,\n*you*!', 'text/html; charset=utf-8')).toEqual({ text: 'Hello,\n*you*!' });
    expect(read('Hello', '')).toEqual({ text: 'Hello' });
  });

  it.each([
    ['data.answer', '{"data":{"answer":"a"},"text":"b"}', { text: 'a' }],
    ['choices.0.text', '{"choices":[{"text":"a"}]}', { text: 'a' }],
    ['0.output', '[{"output":"a"}]', { text: 'a' }],
    ['n', '{"n":7}', { text: '7' }],
    ['n', '{"n":null}', {}],
    ['n', 'plain text', { text: 'plain text' }],
  ])('reads at the path %s of %s', (output, body, answer) => {
    expect(read(body, 'text/plain', output)).toEqual(answer);
  });

  it.each([
    ['data.answer', '{"data":{}}', /has no "data\.answer" \(config\.webhook\.output\): "answer" is missing/],
    ['toString', '{}', /"toString" is missing/],
    ['data', '{"data":{"a":1}}', /"data" .* is not a text/],
  ])('says what is wrong at the path %s of %s', (output, body, sentence) => {
    expect(() => read(body, 'application/json', output)).toThrow(sentence);
  });

  it.each([
    [
      '{"answer":"a","id":7}',
      'application/json',
      /has none of output, text, .* the fields are: answer, id\./,
    ],
    ['{"output":', 'application/json', /JSON that cannot be parsed/],
    ['{"a":', 'application/problem+json', /JSON that cannot be parsed/],
    ['<!DOCTYPE html><p>Hello', 'text/html', /web page/],
    [' <html>', 'text/plain', /web page/],
  ])('says what is wrong with %s of type %s', (body, type, sentence) => {
    expect(() => read(body, type)).toThrow(AgentProtocolError);
    expect(() => read(body, type)).toThrow(sentence);
  });

  it('reads a file beside the text, or alone', () => {
    const media = { mimeType: 'image/png', data: png, fileName: 'a.png' };
    const file = { kind: 'image', mimeType: 'image/png', fileName: 'a.png', bytes: Buffer.from('png') };
    expect(read(JSON.stringify({ text: 'Look', media }))).toEqual({ text: 'Look', files: [file] });
    expect(read(JSON.stringify([{ media }]))).toEqual({ files: [file] });
    expect(() => read(JSON.stringify({ media: { mimeType: 'image/png', data: 'ñ' } }))).toThrow(
      /has none of/,
    );
  });

  it('reads files that are named by URL, and several files', () => {
    const link = { url: 'https://a.org/bill.pdf', mimeType: 'application/pdf', fileName: 'bill.pdf' };
    expect(read(JSON.stringify({ media: link }))).toEqual({ fileLinks: [link] });
    const media = [{ mimeType: 'image/png', data: png }, { url: 'https://a.org/x' }];
    expect(read(JSON.stringify({ text: 'Look', media }))).toEqual({
      text: 'Look',
      files: [{ kind: 'image', mimeType: 'image/png', bytes: Buffer.from('png') }],
      fileLinks: [{ url: 'https://a.org/x' }],
    });
    expect(() => read(JSON.stringify({ media: { url: 'file:///etc/passwd' } }))).toThrow(/has none of/);
  });

  it.each([
    ['image/png', 'image'],
    ['audio/ogg; codecs=opus', 'audio'],
    ['application/pdf', 'document'],
  ])('reads a response of type %s as a file', (type, kind) => {
    const more = { 'content-disposition': 'attachment; filename="a.bin"' };
    expect(read('bytes', type, undefined, more)).toEqual({
      files: [{ kind, mimeType: type.split(';')[0], fileName: 'a.bin', bytes: Buffer.from('bytes') }],
    });
    expect(read('', type)).toEqual({});
  });
});
