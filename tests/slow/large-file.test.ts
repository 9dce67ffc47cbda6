import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { startAbiServer } from '../fixtures/abi-agent-server.js';
import { specificationFunctions } from '../fixtures/abi-echo-types.js';
import { startAbiMockAgent } from '../fixtures/abi-mock-agent.js';
import { TestBed } from '../support/test-bed.ts';

// A busy machine takes longer than the default limits for so many bytes.
const LIMIT_MS = 170_000;

it(
  'A file of nearly 10 MB is received and sent byte for byte while other chats are answered',
  async () => {
    const bed = await TestBed.startPaired({
      env: { WA2AI_AGENT_TIMEOUT: `${LIMIT_MS}ms`, WA2AI_MEDIA_TIMEOUT: `${LIMIT_MS}ms` },
    });
    const analyst = await startAbiMockAgent();
    const mirror = await startAbiServer({ methods: ['mirror'], answer: (calldata) => calldata.subarray(4) });
    const [person, other] = [bed.person(), bed.person()];
    const route = async (channelId: string, agentEndpoint: string, abi: object) => {
      const body = { channelId, agentEndpoint, environment: 'lab', config: { abi } };
      expect((await bed.service.api('POST', '/api/routes', body)).status).toBe(201);
    };
    await route(person.phone, mirror.url, {
      functions: ['function mirror(bytes data) returns (bytes same)'],
      output: { document: '{{same}}' },
    });
    await route(other.phone, analyst.url, { functions: specificationFunctions });
    const bytes = randomBytes(9_990_000);
    await person.say(bed.emulator.mediaHost.message('video', bytes), { to: bed.phone });
    await other.say('/add 2 40', { to: bed.phone });
    expect((await other.nextReply()).text).toBe('42');
    const bubble = await person.nextReply(LIMIT_MS);
    expect(bubble.text).toBeUndefined();
    expect(bed.emulator.mediaHost.open(bubble.message).equals(bytes)).toBe(true);
    await bed.close();
    await Promise.all([mirror.close(), analyst.close()]);
  },
  LIMIT_MS + 60_000,
);
