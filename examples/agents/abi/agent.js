// A small ABI agent: POST / with calldata (selector and arguments) is answered with the ABI-encoded outputs.
import { createServer } from 'node:http';
import { decodeFunctionData, encodeFunctionResult, parseAbi, toFunctionSelector } from 'viem/utils';
import { CallerMistake, functions } from './functions.js';

const MAX_BYTES = 10 * 1024 * 1024;

// Selectors are made once. toFunctionSelector takes the whole item, so that tuples are written out in the signature.
const bySelector = new Map();
for (const [signature, handler] of Object.entries(functions)) {
  const [item] = parseAbi([signature]);
  bySelector.set(toFunctionSelector(item), { item, handler });
}

function answer(calldata) {
  if (calldata.length < 4) throw new CallerMistake('Invalid request: shorter than a selector');
  const entry = bySelector.get(`0x${calldata.toString('hex', 0, 4)}`);
  if (!entry) throw new CallerMistake('Unknown function selector');
  const { item, handler } = entry;
  // One output is returned bare, several as an array: just what encodeFunctionResult wants.
  const result = handler(...argumentsOf(item, calldata));
  return Buffer.from(encodeFunctionResult({ abi: [item], functionName: item.name, result }).slice(2), 'hex');
}

function argumentsOf(item, calldata) {
  try {
    return decodeFunctionData({ abi: [item], data: `0x${calldata.toString('hex')}` }).args ?? [];
  } catch {
    throw new CallerMistake('The arguments are not valid ABI encoding');
  }
}

async function bodyOf(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new CallerMistake('The body is larger than 10 MB', 413);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function send(response, status, contentType, body) {
  response.writeHead(status, { 'content-type': contentType });
  response.end(body);
}

/**
 * Listens, and resolves with the server.
 * @param options.token what callers must send as X-API-Key; absent: nothing
 */
export function startAgent({ port, host, token }) {
  // wa2ai reads the functions here, unless the route names them.
  const manifest = JSON.stringify({ abi: [...bySelector.values()].map(({ item }) => item) });
  const methods = [...bySelector.values()].map(({ item }) => item.name);
  const health = JSON.stringify({ status: 'healthy', version: '1.0.0', methods });
  const server = createServer(async (request, response) => {
    try {
      if (request.method === 'GET' && request.url === '/agent.json')
        return send(response, 200, 'application/json', manifest);
      if (token && request.headers['x-api-key'] !== token)
        return send(response, 401, 'text/plain', 'wrong token');
      if (request.method === 'GET') return send(response, 200, 'application/json', health);
      if (request.method !== 'POST') return send(response, 405, 'text/plain', 'Use POST /');
      send(response, 200, 'application/octet-stream', answer(await bodyOf(request)));
    } catch (error) {
      if (error instanceof CallerMistake) return send(response, error.status, 'text/plain', error.message);
      console.error(error);
      send(response, 500, 'text/plain', 'Internal error');
    }
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve(server));
  });
}
