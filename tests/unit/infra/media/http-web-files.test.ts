import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { AgentTransport } from '../../../../router/src/infra/agents/transport/agent-transport.ts';
import { Egress, type EgressPolicy } from '../../../../router/src/infra/agents/transport/egress.ts';
import { systemClock } from '../../../../router/src/infra/clock/system-clock.ts';
import { HttpWebFiles } from '../../../../router/src/infra/media/http-web-files.ts';
import { PNG } from '../../../support/sounds.ts';

const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer((request, response) => {
    response.setHeader('connection', 'close');
    answer(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const filesOf = (policy: EgressPolicy = 'any') =>
  new HttpWebFiles({ transport: new AgentTransport(new Egress(policy)), clock: systemClock });

describe('HttpWebFiles', () => {
  it('loads a file, with the type and the name that the server gives it', async () => {
    const url = await serve((_request, response) =>
      response.writeHead(200, { 'content-type': 'image/png' }).end(PNG),
    );
    const file = await filesOf().load(`${url}/a/men%C3%BA.png?key=secret`);
    expect(file).toMatchObject({ mimeType: 'image/png', fileName: 'menú.png' });
    expect(Buffer.from(file.bytes)).toEqual(PNG);
  });

  it('follows three redirects, and no fourth', async () => {
    const url = await serve((request, response) => {
      const left = Number(request.url?.slice(1));
      if (left === 0) response.end(PNG);
      else response.writeHead(302, { location: `/${left - 1}` }).end();
    });
    expect((await filesOf().load(`${url}/3`)).bytes.length).toBe(PNG.length);
    await expect(filesOf().load(`${url}/4`)).rejects.toThrow('is reached by more than 3 redirects');
  });

  it('checks the address of each redirect', async () => {
    const url = await serve((_request, response) =>
      response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data' }).end(),
    );
    await expect(filesOf('private').load(url)).rejects.toThrow(
      /^The file was not loaded: 169\.254\.169\.254 is not at a public address/,
    );
    const files = await serve((_request, response) =>
      response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
    );
    await expect(filesOf().load(files)).rejects.toThrow('redirects to no address of the web');
  });

  it('refuses addresses that are not public, where only those are allowed', async () => {
    await expect(filesOf('public').load('http://127.0.0.1:1/x')).rejects.toMatchObject({
      code: 'FILE_REFUSED',
      message: expect.stringContaining('WA2AI_EGRESS'),
    });
  });

  it('asks no other host than the given ones, not by a redirect either', async () => {
    const other = await serve((_request, response) => response.end(PNG));
    const url = await serve((request, response) => {
      if (request.url === '/file') response.end(PNG);
      else response.writeHead(302, { location: other }).end();
    });
    const hosts = [new URL(url).host];
    expect((await filesOf().load(`${url}/file`, { hosts })).bytes.length).toBe(PNG.length);
    await expect(filesOf().load(`${url}/moved`, { hosts })).rejects.toThrow('is no host of the settings');
    await expect(filesOf().load(other, { hosts })).rejects.toThrow('is no host of the settings');
  });

  it('says what went wrong, without the address', async () => {
    const url = await serve((_request, response) => response.writeHead(404).end());
    const error = await filesOf()
      .load(`${url}/secret/path?token=abc`)
      .catch((caught: unknown) => caught);
    expect((error as Error).message).toBe(
      `The file was not loaded: ${new URL(url).host} answered status 404.`,
    );
    await expect(filesOf().load('http://127.0.0.1:1/x')).rejects.toThrow('cannot be reached');
  });

  it('stops reading a file that is too large', async () => {
    const url = await serve((_request, response) => response.end(Buffer.alloc(10_000_001)));
    await expect(filesOf().load(url)).rejects.toThrow('has a file larger than 10 MB');
  });

  it('ends with its signal', async () => {
    const url = await serve(() => undefined);
    const reason = new Error('stopping');
    await expect(filesOf().load(url, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    for (const server of servers) server.closeAllConnections();
  });
});
