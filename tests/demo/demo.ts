import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockAgent } from '../support/mock-agent.ts';
import { pairByQr } from '../support/pairing.ts';
import { Wa2aiProcess } from '../support/wa2ai-process.ts';
import { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';
import { createPerson, type Person } from '../whatsapp-emulator/person.ts';
import { createPhone } from '../whatsapp-emulator/phone.ts';

const APP_NAME = 'my_sample_agent';
const startedMs = performance.now();

/** One line of the transcript: seconds since the start, who, what. */
function say(who: string, text: string): void {
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(2).padStart(7);
  console.log(`${seconds}s  ${who.padEnd(16)} ${text}`);
}

/** The contract's call, as a person would type it; printed and run. Without curl on this machine, fetch does the same. */
async function createRoute(serviceUrl: string, agentUrl: string): Promise<void> {
  const body = {
    channelId: '*',
    agentEndpoint: agentUrl,
    environment: 'lab',
    config: { adk: { appName: APP_NAME, baseUrl: agentUrl } },
  };
  const json = JSON.stringify(body, null, 2);
  console.log(
    `\n  curl -X POST ${serviceUrl}/api/routes \\\n    -H "Content-Type: application/json" \\\n    -d '${json.replaceAll('\n', '\n    ')}'\n`,
  );
  const args = [
    '-sS',
    '--fail-with-body',
    '-X',
    'POST',
    `${serviceUrl}/api/routes`,
    '-H',
    'Content-Type: application/json',
    '-d',
    json,
  ];
  const outcome = await run('curl', args);
  if (outcome === 'missing') {
    say('demo', 'curl is not installed here; the same request goes out by fetch');
    const response = await fetch(`${serviceUrl}/api/routes`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: json,
    });
    if (response.status !== 201) throw new Error(`the route was not created: ${await response.text()}`);
    return;
  }
  if (outcome.code !== 0) throw new Error(`the route was not created: ${outcome.output}`);
}

async function run(
  command: string,
  args: string[],
): Promise<'missing' | { code: number | null; output: string }> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  return new Promise((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') resolve('missing');
      else reject(error);
    });
    child.once('close', (code) => resolve({ code, output }));
  });
}

/** Says something and waits for the answer in the same chat; throws when it is not the expected one. */
async function exchange(person: Person, text: string, to: string, place: string): Promise<void> {
  say(person.pushName, `${place}"${text}"`);
  const askedMs = performance.now();
  await person.say(text, { to });
  const reply = await person.nextReply(20_000);
  say('wa2ai', `${place}"${reply.text}"   (${Math.round(performance.now() - askedMs)} ms)`);
  if (reply.chat !== to) throw new Error(`the answer to "${text}" came in chat ${reply.chat}, not in ${to}`);
  if (reply.text !== `You said: ${text}`) throw new Error(`the answer to "${text}" was "${reply.text}"`);
}

async function demo(): Promise<number> {
  const cleanUps: Array<() => Promise<unknown>> = [];
  try {
    console.log(
      'This is wa2ai without a phone: an emulated WhatsApp, a small agent, and the real service.\n',
    );
    const dataDir = await mkdtemp(join(tmpdir(), 'wa2ai-demo-'));
    cleanUps.push(() => rm(dataDir, { recursive: true, force: true }));

    const emulator = await WhatsAppEmulator.start();
    cleanUps.push(() => emulator.stop());
    say('demo', `WhatsApp emulator on ${emulator.url}`);

    const agent = await MockAgent.start({
      appName: APP_NAME,
      switches: ['--reply', 'You said: {text}', '--delay-ms', '60'],
    });
    cleanUps.push(() => agent.stop());
    say('demo', `agent "${APP_NAME}" on ${agent.url}`);

    say('demo', 'starting wa2ai with its own PostgreSQL (a few seconds) ...');
    const service = await Wa2aiProcess.start({ whatsappWsUrl: emulator.url, dataDir });
    cleanUps.push(() => service.end());
    say('demo', `wa2ai on ${service.url}`);

    const phone = createPhone(emulator, { phone: '34900000001', name: 'The account' });
    await pairByQr(service, phone, emulator);
    say('demo', 'the phone scanned the QR code: the account is linked');

    say('demo', 'a route for every chat:');
    await createRoute(service.url, agent.url);

    const ana = createPerson(emulator, { phone: '5493777239922', name: 'Ana' });
    const bo = createPerson(emulator, { phone: '34600000002', name: 'Bo (by LID)', via: 'lid' });
    const group = createGroup(emulator, { subject: 'Friends', members: [ana, bo, phone] });

    await exchange(ana, 'Hello, how can you help me?', phone.pn, '');
    await exchange(bo, 'Hola!', phone.pn, '');
    await exchange(ana, "What's the weather today?", phone.pn, '');

    say(bo.pushName, '[Friends] "Is anybody here?"');
    await bo.say('Is anybody here?', { to: group.jid });
    for (const member of [ana, bo]) {
      const reply = await member.nextReply(20_000);
      if (reply.chat !== group.jid) throw new Error(`the group's answer came in chat ${reply.chat}`);
      say('wa2ai', `[Friends] "${reply.text}"   (seen by ${member.pushName})`);
    }
    console.log('\nEvery answer came back in its chat. Next: "Your first agent" in README.md.');
    return 0;
  } catch (error) {
    console.error(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  } finally {
    for (const cleanUp of cleanUps.reverse()) await cleanUp().catch(() => undefined);
  }
}

process.exit(await demo());
