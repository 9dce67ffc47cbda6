// A webhook for wa2ai without any package: it checks the signature, answers immediately, or answers later.
// PORT=8090 WEBHOOK_SECRET=a-secret-key node examples/webhook-agent/agent.js
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const { PORT = '8090', WEBHOOK_SECRET = '', WA2AI = 'http://localhost:3000' } = process.env;
const MAX_AGE_SECONDS = 300;
/** Ids of messages that are being answered or were answered; a real agent stores them. */
const seen = new Set();

/** Whether wa2ai signed this body, not long ago. */
function isSigned(headers, body) {
  if (WEBHOOK_SECRET === '') return true;
  const timestamp = String(headers['x-wa2ai-timestamp']);
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) < MAX_AGE_SECONDS)) return false;
  const expected = createHmac('sha256', WEBHOOK_SECRET).update(`${timestamp}.`).update(body).digest();
  const given = Buffer.from(String(headers['x-wa2ai-signature']).replace('sha256=', ''), 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Answers later. 409 says that an earlier call has arrived. */
async function replyLater(token, text) {
  const response = await fetch(`${WA2AI}/api/replies/${token}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text }),
  });
  console.log(`answered later: status ${response.status}`);
}

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  if (request.method !== 'POST') return response.writeHead(405).end();
  if (!isSigned(request.headers, body)) return response.writeHead(401).end('wrong signature');
  const { messageId, text, name, replyToken } = JSON.parse(body);

  const later = /^remind me in (\d{1,3}) seconds?$/i.exec(text);
  if (later && replyToken) {
    response.writeHead(202).end();
    // The same message may come twice, after a crash or a lost connection: do the work once.
    if (seen.has(messageId)) return;
    seen.add(messageId);
    setTimeout(
      () => replyLater(replyToken, 'You asked me to remind you.').catch(console.error),
      later[1] * 1000,
    );
    return;
  }
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ output: `Hello ${name ?? 'there'}, you said: ${text}` }));
});

server.listen(Number(PORT), () => console.log(`listens on port ${server.address().port}`));
