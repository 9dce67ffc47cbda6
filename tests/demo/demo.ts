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
import { CleanUp } from './clean-up.ts';
import { createRoute } from './create-route.ts';
import { say } from './output.ts';
import { chatInTerminal } from './terminal-chat.ts';

const APP_NAME = 'my_sample_agent';

/** Sends a text and waits for the reply in the same chat; throws when it is not the expected one. */
async function exchange(person: Person, text: string, to: string): Promise<void> {
  say(person.pushName, `"${text}"`);
  const sentMs = performance.now();
  await person.say(text, { to });
  const reply = await person.nextReply();
  say('wa2ai', `"${reply.text}"   (${Math.round(performance.now() - sentMs)} ms)`);
  if (reply.chat !== to)
    throw new Error(`the reply to "${text}" arrived in chat ${reply.chat} instead of ${to}`);
  if (reply.text !== `You said: ${text}`) throw new Error(`the reply to "${text}" was "${reply.text}"`);
}

/** Runs the conversation, and with `keep` the terminal chat after it. Everything it starts is added to `cleanUp`. */
async function demo(cleanUp: CleanUp, keep: boolean): Promise<void> {
  console.log('wa2ai without a phone: an emulated WhatsApp, a small agent, and the real service.\n');
  const folder = await mkdtemp(join(tmpdir(), 'wa2ai-demo-'));
  cleanUp.add(() => rm(folder, { recursive: true, force: true }));
  // what the emulator and libraries keep in temporary files is removed with the folder
  process.env.TMPDIR = folder;

  const emulator = await WhatsAppEmulator.start();
  cleanUp.add(() => emulator.stop());
  say('demo', `WhatsApp emulator on ${emulator.url}`);

  const agent = await MockAgent.start({
    appName: APP_NAME,
    switches: ['--reply', 'You said: {text}', '--delay-ms', '60'],
    endWithParent: true,
  });
  cleanUp.add(() => agent.stop());
  say('demo', `agent "${APP_NAME}" on ${agent.url}`);

  say('demo', 'starting wa2ai with its own PostgreSQL (a few seconds) ...');
  const service = Wa2aiProcess.spawn({
    whatsappWsUrl: emulator.url,
    dataDir: join(folder, 'data'),
    env: { ...emulator.mediaEnv, REMOVE_WITH_PARENT: folder },
    endWithParent: true,
  });
  cleanUp.add(() => service.end());
  await service.untilReady();
  say('demo', `wa2ai on ${service.url}`);

  const phone = createPhone(emulator, { phone: '34900000001', name: 'The account' });
  await pairByQr(service, phone, emulator);
  say('demo', 'the phone scanned the QR code: the account is linked');

  say('demo', 'creating a route for every chat:');
  await createRoute(service.url, { url: agent.url, appName: APP_NAME });

  const ana = createPerson(emulator, { phone: '5493777239922', name: 'Ana' });
  const bo = createPerson(emulator, { phone: '34600000002', name: 'Bo (by LID)', via: 'lid' });
  const group = createGroup(emulator, { subject: 'Friends', members: [ana, bo, phone] });

  await exchange(ana, 'Hello, how can you help me?', phone.pn);
  await exchange(bo, 'Hola!', phone.pn);
  await exchange(ana, "What's the weather today?", phone.pn);

  say(bo.pushName, '[Friends] "Is anybody here?"');
  await bo.say('Is anybody here?', { to: group.jid });
  for (const member of [ana, bo]) {
    const reply = await member.nextReply();
    if (reply.chat !== group.jid) throw new Error(`the group's reply arrived in chat ${reply.chat}`);
    say('wa2ai', `[Friends] "${reply.text}"   (seen by ${member.pushName})`);
  }
  console.log('\nEvery reply arrived in its chat.');
  if (keep) await chatInTerminal({ people: { ana, bo }, group, account: phone.pn, serviceUrl: service.url });
  else
    console.log('To type messages yourself: npm run demo -- --keep. Next: "Your first agent" in README.md.');
}

const keep = process.argv.includes('--keep');
const cleanUp = new CleanUp({ exitCodeOfInterrupt: keep ? 0 : undefined });
try {
  await demo(cleanUp, keep);
  await cleanUp.end(0);
} catch (error) {
  if (!cleanUp.isEnding) {
    console.error(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}`);
  }
  await cleanUp.end(1);
}
