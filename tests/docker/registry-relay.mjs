// Gives containers of an engine without a network access to the package registry. Two processes share a unix socket:
//   --serve SOCKET REGISTRY   outside: forwards each request to the registry
//   --forward PORT SOCKET     inside: forwards TCP connections to the socket
import { createServer, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, createServer as createTcpServer } from 'node:net';

const [mode, first, second] = process.argv.slice(2);
if (mode === '--serve') serve(first, new URL(second));
else if (mode === '--forward') forward(Number(first), second);
else throw new Error('usage: registry-relay.mjs --serve SOCKET REGISTRY | --forward PORT SOCKET');

function serve(socket, registry) {
  const send = registry.protocol === 'https:' ? httpsRequest : httpRequest;
  const folder = registry.pathname.replace(/\/$/, '');
  createServer((incoming, outgoing) => {
    const { host, ...headers } = incoming.headers;
    // a tarball's address begins with the registry's own folder, other addresses do not
    const path = incoming.url.startsWith(`${folder}/`) ? incoming.url : folder + incoming.url;
    const options = { method: incoming.method, headers: { ...headers, host: registry.host } };
    const onward = send(new URL(path, registry), options, (response) => {
      outgoing.writeHead(response.statusCode, response.headers);
      response.pipe(outgoing);
    });
    onward.on('error', (error) => outgoing.writeHead(502).end(error.message));
    incoming.pipe(onward);
  }).listen(socket);
}

function forward(port, socket) {
  createTcpServer((near) => {
    const far = connect(socket);
    for (const stream of [near, far]) stream.on('error', () => [near, far].map((each) => each.destroy()));
    near.pipe(far).pipe(near);
  }).listen(port);
}
