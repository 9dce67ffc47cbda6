import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import sql from 'sql-template-tag';
import { expect, it, onTestFinished } from 'vitest';
import { TestBed } from '../support/test-bed.ts';

/** An ADK agent without sessions. A message with `poison` is not answered; the returned event `poison` says that it came. */
async function anAgent() {
  const server = createServer(async (request, response) => {
    if (request.url !== '/run') return void response.writeHead(404).end();
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    if (body.includes('poison')) return void server.emit('poison');
    const parts = [{ text: `re ${/"text":"([^"]*)"/.exec(body)?.[1]}` }];
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify([{ author: 'model', content: { role: 'model', parts } }]));
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, untilPoison: () => once(server, 'poison') };
}

it('a message that ends wa2ai each time becomes a dead letter, and everybody else is answered', {
  timeout: 120_000,
}, async () => {
  const bed = await TestBed.startPaired();
  onTestFinished(() => bed.close());
  const agent = await anAgent();
  const [stranger, ...people] = [bed.person(), bed.person(), bed.person(), bed.person()];
  for (const { phone } of [stranger, ...people]) await bed.service.addRoute(phone, agent.url);

  let came = agent.untilPoison();
  const id = await stranger.say('poison', { to: bed.phone });
  for (const [index, person] of people.entries()) {
    await came;
    await bed.service.end('SIGKILL');
    came = agent.untilPoison();
    await bed.restartService();
    const text = `question ${index}`;
    await person.say(text, { to: bed.phone });
    expect((await person.nextReply()).text).toBe(`re ${text}`);
  }
  const row = await bed.untilTurnEnded(id);
  expect(row).toMatchObject({ state: 'dead', reason: 'PROCESS_ENDED', replies: [], attempts: 3 });
  const { body } = await bed.service.api('GET', '/api/dead-letters');
  expect(body).toMatchObject({ data: [{ messageId: row.id, reason: 'PROCESS_ENDED' }], count: 1 });
  await stranger.say('are you there?', { to: bed.phone });
  expect((await stranger.nextReply()).text).toBe('re are you there?');

  // Stops with the same message open count nothing.
  const again = agent.untilPoison();
  await bed.replay(row.id);
  await again;
  for (let stops = 0; stops < 2; stops += 1) {
    await bed.service.end('SIGTERM');
    const comes = agent.untilPoison();
    await bed.restartService();
    await comes;
  }
  const postgres = bed.database.open();
  const [stored] = await postgres.query<{ suspicion: number }>(
    sql`SELECT suspicion FROM message WHERE id = ${row.id}::bigint`,
  );
  expect(stored).toEqual({ suspicion: 0 });
});
