import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { Wa2aiError } from '../../router/src/core/errors.ts';
import type { IncomingMessage } from '../../router/src/core/models.ts';
import { AbiAgentClient } from '../../router/src/infra/agents/abi/abi-agent-client.ts';
import type { AbiSettings } from '../../router/src/infra/agents/abi/abi-settings.ts';
import { Manifests } from '../../router/src/infra/agents/abi/input/manifests.ts';
import { AgentTransport } from '../../router/src/infra/agents/transport/agent-transport.ts';
import { holdingClock } from '../../router/src/infra/clock/system-clock.ts';
import { echoFunctions, specificationFunctions } from '../fixtures/abi-echo-types.js';
import { makeTestCertificate } from '../whatsapp-emulator/certificate.ts';

type AbiAgentClientConfig = ConstructorParameters<typeof AbiAgentClient>[0];

/** The functions of every ABI agent of the tests. */
export const abiFunctions = [...specificationFunctions, ...echoFunctions];

export const vitalik = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';
const most = (2n ** 256n - 1n).toString();
const least = (-(2n ** 255n)).toString();
const wrongSelector = /compute tuple selectors wrongly/;
const wrapped = /may wrap its single \w+ output in a list/;

/** What a person writes and what comes back. */
export interface AbiExchange {
  text: string;
  reply: string;
  /** What the agent with the defects of a naive example does instead: another reply, or an error with this text. */
  naive?: string | RegExp;
}

/** One exchange at least for every kind of type. */
export const abiConversation: AbiExchange[] = [
  { text: '/greet Alice', reply: 'Hello, Alice!' },
  { text: '/add 2 40', reply: '42' },
  { text: `/add ${most} 0`, reply: most },
  { text: '/sumArray [1,2,3]', reply: '6' },
  { text: '/processUser {“name”:“Ann”,“age”:30}', reply: 'Hello Ann, age 30!', naive: wrongSelector },
  {
    text: '/analyze 0x1234',
    reply: 'hash: 0x56570de287d73cd1cb6092bb8fdee6173974955fdef345ae579ee9f475ea7432\nsize: 2\nvalid: true',
    // It counts the characters of the hex text.
    naive: 'hash: 0x56570de287d73cd1cb6092bb8fdee6173974955fdef345ae579ee9f475ea7432\nsize: 6\nvalid: true',
  },
  { text: '/echoUint8 255', reply: '255' },
  { text: `/echoUint256 ${most}`, reply: most },
  { text: '/echoInt8 -128', reply: '-128' },
  { text: `/echoInt256 ${least}`, reply: least },
  { text: '/echoBool no', reply: 'false', naive: wrapped },
  { text: `/echoAddress ${vitalik.toLowerCase()}`, reply: vitalik, naive: wrapped },
  { text: '/echoBytes4 0x01020304', reply: '0x01020304', naive: wrapped },
  { text: `/echoBytes32 0x${'ab'.repeat(32)}`, reply: `0x${'ab'.repeat(32)}`, naive: wrapped },
  // A list around single bytes is encoded as one zero byte: it looks the same as an answer.
  { text: '/echoBytes aGVsbG8=', reply: '0x68656c6c6f', naive: '0x00' },
  { text: '/echoString ¿Qué tal? 😀', reply: '¿Qué tal? 😀' },
  { text: '/echoList [1, 0xff]', reply: '1, 255' },
  { text: '/echoList []', reply: '(none)' },
  { text: '/echoTexts ["a, b", "", c]', reply: '1. a, b\n2. \n3. c' },
  { text: '/echoPair [-5, 6]', reply: '-5, 6' },
  { text: '/echoGrid [[1,2],[3,4]]', reply: '1. 1, 2\n2. 3, 4' },
  { text: '/echoNested [["a"],[]]', reply: '1. a\n2. (none)' },
  { text: '/echoNamed {"name":"Ann","age":30}', reply: 'name: Ann\nage: 30', naive: wrongSelector },
  { text: `/echoUnnamed [true, "${vitalik}"]`, reply: `1: true\n2: ${vitalik}`, naive: wrongSelector },
  {
    text: '/echoDeep {"name":"Ann","items":[{"level":1,"parts":["0x12","0x"]}]}',
    reply: 'name: Ann\nitems:\n  1. level: 1\n    parts: 0x12, 0x',
    naive: wrongSelector,
  },
  {
    text: '/echoTuples [{"name":"A","age":1},["B",2]]',
    reply: '1. name: A\n  age: 1\n2. name: B\n  age: 2',
    naive: wrongSelector,
  },
];

/** A message of one person in their own chat. */
export function saying(text: string, more: Partial<IncomingMessage> = {}): IncomingMessage {
  return {
    id: '3EB0ABC',
    from: '34600111222@s.whatsapp.net',
    channelId: '34600111222',
    text,
    timestamp: new Date(1_700_000_000_000),
    ...more,
  };
}

/** A client that knows `abiFunctions`, unless others are given. */
export function abiClient(config: Partial<AbiSettings> = {}, timeoutMs = 30_000): AbiAgentClient {
  return abiClientWith({ abi: { functions: abiFunctions, ...config }, timeoutMs });
}

/** A client with its own transport and cache of manifests, unless others are given. */
export function abiClientWith(
  config: Pick<AbiAgentClientConfig, 'abi'> & Partial<AbiAgentClientConfig>,
): AbiAgentClient {
  const { clock = holdingClock, transport = new AgentTransport() } = config;
  return new AbiAgentClient({ manifests: new Manifests(clock, transport), ...config, clock, transport });
}

/** The reply to a text. */
export async function askAbi(agent: { url: string }, text: string, config: Partial<AbiSettings> = {}) {
  return (await abiClient(config).sendMessage(agent.url, saying(text))).response;
}

/** The error that a text ends in; an answer fails the test. */
export async function abiFailure(
  agent: { url: string },
  text: string,
  config: Partial<AbiSettings> = {},
  timeoutMs?: number,
) {
  return await abiClient(config, timeoutMs)
    .sendMessage(agent.url, saying(text))
    .then(
      (response) => {
        throw new Error(`it answered ${JSON.stringify(response)}`);
      },
      (error: Wa2aiError) => error,
    );
}

/** A server that answers as the listener says, closed with the test. */
export async function serverOf(listener: RequestListener): Promise<{ url: string }> {
  return { url: `http://${await listening(createServer(listener))}` };
}

/** The same over TLS; `cert` is the PEM of its certificate, which signed itself. */
export async function tlsServerOf(listener: RequestListener): Promise<{ url: string; cert: string }> {
  const certificate = makeTestCertificate();
  const address = await listening(createTlsServer(certificate, listener));
  return { url: `https://${address}`, cert: certificate.cert };
}

async function listening(server: Server): Promise<string> {
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
