import { Task } from '@a2a-js/sdk';
import { describe, expect, it } from 'vitest';
import {
  answerOfMessage,
  answerOfTask,
} from '../../../../../../router/src/infra/agents/a2a/output/answer.ts';
import { parseJsonTemplate } from '../../../../../../router/src/infra/agents/json-template.ts';
import { AgentTransport } from '../../../../../../router/src/infra/agents/transport/agent-transport.ts';

const context = (output?: string) => ({
  transport: new AgentTransport(),
  headersFor: () => new Headers(),
  signal: AbortSignal.timeout(60_000),
  output: output === undefined ? undefined : parseJsonTemplate(output),
  redact: (text: string) => text.replaceAll('secret', '[secret]'),
});
const task = (state: string, text: string) => {
  const message = { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text }] };
  return Task.fromJSON({ id: 'task-1', contextId: 'c', status: { state: `TASK_STATE_${state}`, message } });
};

describe('answerOfTask', () => {
  it('says nothing for an empty answer', async () => {
    expect((await answerOfTask(task('COMPLETED', ' '), context())).response).toBeUndefined();
  });

  it('keeps the text of a failure for the admin, redacted', async () => {
    await expect(answerOfTask(task('FAILED', 'a secret'), context())).rejects.toMatchObject({
      code: 'AGENT_TASK_FAILED',
      message: 'Task task-1 of the A2A agent failed: a [secret].',
      forPerson: undefined,
    });
  });
});

describe('answerOfMessage', () => {
  it('has the texts, and data only where there is nothing else', async () => {
    const parts = (json: object[]) =>
      Task.fromJSON({ artifacts: [{ parts: json }] }).artifacts[0]?.parts ?? [];
    const read = async (json: object[]) => (await answerOfMessage(parts(json), 'c', context())).response;
    expect(await read([{ text: 'hello' }, { data: { a: 1 } }])).toBe('hello');
    expect(await read([{ data: { unitPrice: 1, inStock: true } }])).toBe('unit price: 1\nin stock: yes');
  });
});
