import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ModelInput, startOpenAiServer } from '../doubles/openai-server.ts';
import type { StandInServer } from '../doubles/stand-in-server.ts';
import { TestBed } from '../support/test-bed.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';

let bed: TestBed;
const servers: StandInServer[] = [];

beforeAll(async () => {
  bed = await TestBed.startPaired();
});

afterAll(async () => {
  await bed.close();
  for (const server of servers) await server.close();
});

async function aServer(starting: Promise<StandInServer>): Promise<StandInServer> {
  const server = await starting;
  servers.push(server);
  return server;
}

describe('a person who writes to a model behind an OpenAI-compatible API', () => {
  const inputs: ModelInput[] = [];
  const write = (input: ModelInput) => {
    inputs.push(input);
    return `<think>${input.said.at(-1)} is rude</think>Heard: ${input.said.at(-1)}`;
  };
  let server: StandInServer;
  const config = {
    adk: undefined,
    openai: { model: 'gpt-test', apiKey: 'sk-1', system: 'Be kind.', images: true },
  };

  beforeAll(async () => {
    server = await aServer(startOpenAiServer({ apiKey: 'sk-1', write }));
  });

  it('gets its answers without reasoning, and the model gets the conversation', async () => {
    const ana = bed.person();
    await bed.service.addRoute(ana.phone, server.url, { config });
    await ana.say('I am Ana', { to: bed.phone });
    expect(await ana.nextReply()).toMatchObject({ text: 'Heard: I am Ana', chat: bed.phone.pn });
    await ana.say('Who am I?', { to: bed.phone });
    expect((await ana.nextReply()).text).toBe('Heard: Who am I?');
    expect(inputs.at(-1)).toEqual({
      model: 'gpt-test',
      system: 'Be kind.',
      said: ['I am Ana', 'Heard: I am Ana', 'Who am I?'],
    });
  });

  it('gets an answer in a group, and the model knows who wrote', async () => {
    const [dan, eva] = [bed.person({ name: 'Dan' }), bed.person({ name: 'Eva' })];
    const group = createGroup(bed.emulator, { subject: 'Friends', members: [dan, eva, bed.phone] });
    await bed.service.addRoute(group.jid, server.url, { config });
    await dan.say('hello', { to: group });
    for (const member of [dan, eva]) {
      expect(await member.nextReply()).toMatchObject({ text: 'Heard: Dan: hello', chat: group.jid });
    }
    await eva.say('hi Dan', { to: group });
    await dan.waitForReceived(2);
    expect(inputs.at(-1)?.said).toEqual(['Dan: hello', 'Heard: Dan: hello', 'Eva: hi Dan']);
  });

  it('gets an answer after the server was overloaded', async () => {
    const bo = bed.person();
    const failure = { attempts: 5, backoffMs: 10, maxBackoffMs: 10 };
    await bed.service.addRoute(bo.phone, server.url, { config: { ...config, failure } });
    const arrived = server.nextRequest();
    server.misbehaviour = '500';
    await bo.say('still there?', { to: bed.phone });
    await arrived;
    server.misbehaviour = undefined;
    expect((await bo.nextReply()).text).toBe('Heard: still there?');
  });
});
