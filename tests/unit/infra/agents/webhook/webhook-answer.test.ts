import { describe, expect, it } from 'vitest';
import { AgentProtocolError } from '../../../../../router/src/core/errors.ts';
import { WebhookAgentClient } from '../../../../../router/src/infra/agents/webhook/webhook-agent-client.ts';
import { aMessage } from '../../../../support/adk-requests.ts';
import { AnsweringTransport } from '../../../../support/answering-transport.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

/** What the client reads in a successful response. */
async function read(body: string | Buffer, type = 'application/json', output?: string, more: object = {}) {
  const headers = new Headers({ 'content-type': type, ...more });
  const client = new WebhookAgentClient({
    webhook: { output },
    timeoutMs: 1_000,
    clock: new FakeClock(),
    transport: new AnsweringTransport({ kind: 'answer', status: 200, headers, body: Buffer.from(body) }),
  });
  const { response: text, files, fileLinks } = await client.sendMessage('http://hook.test', aMessage({}));
  return { text, files, fileLinks };
}
const png = Buffer.from('png').toString('base64');

describe('the answer of a webhook', () => {
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
  ])('reads %s as %s', async (body, text) => {
    expect(await read(body)).toEqual({ text });
    expect(await read(body, 'text/plain')).toEqual({ text });
  });

  it.each([
    [
      'a stream of n8n',
      '{"type":"begin"}\n{"type":"item","content":"Hi"}\n{"type":"item","content":" you"}\n{"type":"end"}\n',
    ],
    ['values without line breaks', '{"type":"begin"}{"type":"item","content":"Hi you"}{"type":"end"}'],
    [
      'events of OpenAI',
      'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\ndata: {"choices":[{"delta":{"content":" you"}}]}\n\ndata: [DONE]\n\n',
    ],
    [
      'events without the last blank line',
      'event: token\ndata: {"data":"Hi"}\n\nevent: token\ndata: {"data":" you"}',
    ],
    [
      'events of Anthropic',
      'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"type":"text_delta","text":"Hi you"}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n',
    ],
    [
      'lines of Ollama',
      '{"message":{"content":"Hi"},"done":false}\n{"message":{"content":" you"},"done":false}\n{"message":{"content":""},"done":true}',
    ],
    ['events of text', ': ping\n\ndata: Hi\n\ndata:  you\n\n'],
    ['a whole text at the end', '{"type":"item","content":"Hi you"}\n{"type":"end","output":"Hi you"}'],
  ])('reads %s', async (_, body) => {
    expect(await read(body, 'application/json; charset=utf-8')).toEqual({ text: 'Hi you' });
    expect(await read(body, 'text/plain')).toEqual({ text: 'Hi you' });
  });

  it.each([
    ['an object with a text', '{"output":{"text":"Hi"}}', 'Hi'],
    ['a list of texts', '{"output":["a"]}', 'a'],
    ['a message in a list', '[{"message":{"role":"assistant","content":"Hi"}}]', 'Hi'],
    ['blocks of content', '{"output":[{"type":"thinking","text":"hm"},{"type":"text","text":"Hi"}]}', 'Hi'],
    [
      'the last message of the agent',
      '{"output":[{"role":"user","content":"q"},{"role":"assistant","content":"Hi"}]}',
      'Hi',
    ],
    ['parts', '{"response":{"parts":[{"text":"H"},{"text":"i"}]}}', 'Hi'],
    [
      'TwiML',
      '<?xml version="1.0" encoding="UTF-8"?>\n<Response><Message>Tom &amp; I</Message></Response>',
      'Tom & I',
    ],
    ['TwiML with a body', '<Response><Message><Body>Hi</Body></Message></Response>', 'Hi'],
    [
      'an answer behind a warning of PHP',
      '<br />\n<b>Warning</b>:  Undefined key in <b>/var/www/x.php</b> on line <b>3</b><br />\n{"output":"Hi"}',
      'Hi',
    ],
  ])('reads %s', async (_, body, text) => {
    expect(await read(body, 'text/plain')).toEqual({ text });
  });

  it.each([
    ['UTF-16', Buffer.from('\ufeff{"output":"é"}', 'utf16le'), 'application/json'],
    ['Latin-1', Buffer.from('{"output":"é"}', 'latin1'), 'application/json; charset=ISO-8859-1'],
  ])('reads %s', async (_, body, type) => {
    expect(await read(body, type)).toEqual({ text: 'é' });
  });

  it.each([
    ['{"output":{"id":7}}', /"output" is not a text/],
    ['{"output":[{"id":7}]}', /"output" is not a text/],
    ['{"message":"no balance","error":true}', /an error/],
    ['{"message":"Workflow was started"}', /before its work ended/],
    ['Workflow got started.', /before its work ended/],
    ['Accepted', /before its work ended/],
    ['<?xml version="1.0"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0">\n<html>', /web page/],
    ['<!-- built at noon -->\n<html><body>Hi', /web page/],
    ['<head><title>x</title>', /web page/],
    ['<?xml version="1.0"?><error>x</error>', /XML/],
    ['Warning: include(): failed in /var/www/html/x.php on line 3', /PHP/],
    ['PHP Fatal error:  Uncaught Exception in /srv/x.php on line 3', /PHP/],
    ['{"type":"begin"}\n{"type":"error","content":"secret"}', /a stream that ended with an error/],
    ['data: {"id":7}\n\n', /no text/],
  ])('says what is wrong with %s', async (body, sentence) => {
    await expect(read(body, 'text/html')).rejects.toThrow(AgentProtocolError);
    await expect(read(body, 'text/html')).rejects.toThrow(sentence);
  });

  it.each([
    '{"output":[]}',
    '\u200b\ufeff\u2060',
    '{"type":"begin"}\n{"type":"end"}',
    '<Response/>',
    '{"output":"\\u200b"}',
  ])('reads %j as silence too', async (body) => {
    expect(await read(body, 'text/plain')).toEqual({});
  });

  it.each(['<b>Hi</b>', '<p>Hi <i>you</i></p>', 'It is accepted.', 'data is here: 5', '{curly} words'])(
    'keeps the text %j',
    async (body) => {
      expect(await read(body, 'text/html')).toEqual({ text: body });
    },
  );

  it.each(['', '  \n', '{}', '[]', 'null', '{"output":""}', '{"text":null}', '""'])(
    'reads %j as silence',
    async (body) => {
      expect(await read(body)).toEqual({});
    },
  );

  it('reads plain text as it is', async () => {
    expect(await read('Hello,\n*you*!', 'text/html; charset=utf-8')).toEqual({ text: 'Hello,\n*you*!' });
    expect(await read('Hello', '')).toEqual({ text: 'Hello' });
  });

  it.each([
    ['data.answer', '{"data":{"answer":"a"},"text":"b"}', { text: 'a' }],
    ['choices.0.text', '{"choices":[{"text":"a"}]}', { text: 'a' }],
    ['0.output', '[{"output":"a"}]', { text: 'a' }],
    ['n', '{"n":7}', { text: '7' }],
    ['n', '{"n":null}', {}],
    ['n', 'plain text', { text: 'plain text' }],
  ])('reads at the path %s of %s', async (output, body, answer) => {
    expect(await read(body, 'text/plain', output)).toEqual(answer);
  });

  it.each([
    ['data.answer', '{"data":{}}', /has no "data\.answer" \(config\.webhook\.output\): "answer" is missing/],
    ['toString', '{}', /"toString" is missing/],
    ['data', '{"data":{"a":1}}', /"data" .* is not a text/],
  ])('says what is wrong at the path %s of %s', async (output, body, sentence) => {
    await expect(read(body, 'application/json', output)).rejects.toThrow(sentence);
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
  ])('says what is wrong with %s of type %s', async (body, type, sentence) => {
    await expect(read(body, type)).rejects.toThrow(AgentProtocolError);
    await expect(read(body, type)).rejects.toThrow(sentence);
  });

  it('reads a file beside the text, or alone', async () => {
    const media = { mimeType: 'image/png', data: png, fileName: 'a.png' };
    const file = { kind: 'image', mimeType: 'image/png', fileName: 'a.png', bytes: Buffer.from('png') };
    expect(await read(JSON.stringify({ text: 'Look', media }))).toEqual({ text: 'Look', files: [file] });
    expect(await read(JSON.stringify([{ media }]))).toEqual({ files: [file] });
    await expect(read(JSON.stringify({ media: { mimeType: 'image/png', data: 'ñ' } }))).rejects.toThrow(
      /has none of/,
    );
  });

  it('reads files that are named by URL, and several files', async () => {
    const link = { url: 'https://a.org/bill.pdf', mimeType: 'application/pdf', fileName: 'bill.pdf' };
    expect(await read(JSON.stringify({ media: link }))).toEqual({ fileLinks: [link] });
    const media = [{ mimeType: 'image/png', data: png }, { url: 'https://a.org/x' }];
    expect(await read(JSON.stringify({ text: 'Look', media }))).toEqual({
      text: 'Look',
      files: [{ kind: 'image', mimeType: 'image/png', bytes: Buffer.from('png') }],
      fileLinks: [{ url: 'https://a.org/x' }],
    });
    await expect(read(JSON.stringify({ media: { url: 'file:///etc/passwd' } }))).rejects.toThrow(
      /has none of/,
    );
  });

  it.each([
    ['image/png', 'image'],
    ['audio/ogg; codecs=opus', 'audio'],
    ['application/pdf', 'document'],
  ])('reads a response of type %s as a file', async (type, kind) => {
    const more = { 'content-disposition': 'attachment; filename="a.bin"' };
    expect(await read('bytes', type, undefined, more)).toEqual({
      files: [{ kind, mimeType: type.split(';')[0], fileName: 'a.bin', bytes: Buffer.from('bytes') }],
    });
    expect(await read('', type)).toEqual({});
  });
});
