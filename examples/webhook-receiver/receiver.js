// Receives the events of a webhook of wa2ai, without any package: it checks the signature, and takes each event once.
// PORT=8095 WEBHOOK_SECRET=the-secret-of-the-webhook node examples/webhook-receiver/receiver.js
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const { PORT = '8095', WEBHOOK_SECRET = '' } = process.env;
const MAX_AGE_SECONDS = 300;
/** Events that were taken. A real receiver stores the id together with what it does. */
const taken = new Set();

/** Whether wa2ai signed this body, not long ago. */
function isSigned(headers, body) {
  const timestamp = String(headers['x-wa2ai-timestamp']);
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) < MAX_AGE_SECONDS)) return false;
  const expected = createHmac('sha256', WEBHOOK_SECRET).update(`${timestamp}.`).update(body).digest();
  const given = Buffer.from(String(headers['x-wa2ai-signature']).replace('sha256=', ''), 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  if (!isSigned(request.headers, body)) return response.writeHead(401).end();
  const event = JSON.parse(body);
  // The same event may come twice, after a crash or a lost connection.
  if (!taken.has(event.eventId)) {
    taken.add(event.eventId);
    console.log(JSON.stringify({ event: event.event, channelId: event.channelId, text: event.text }));
  }
  response.writeHead(204).end();
});

server.listen(Number(PORT), () => console.log(`listens on port ${server.address().port}`));
