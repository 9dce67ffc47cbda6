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
  it.each([
    ['COMPLETED', 'done', 'done'],
    ['INPUT_REQUIRED', 'Which?', 'Which?'],
    ['CANCELED', 'stopped', 'Task task-1 was cancelled.'],
  ])('%s', async (state, text, response) => {
    expect(await answerOfTask(task(state, text), context())).toMatchObject({
      response,
      metadata: { a2a: { taskId: 'task-1', contextId: 'c' } },
    });
  });

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

  it('gives the person what the template of the route shows', async () => {
    const output = '{{state}}/{{taskId}}{{#inputRequired}} asks {{text}}{{/inputRequired}}';
    expect((await answerOfTask(task('INPUT_REQUIRED', 'Which?'), context(output))).response).toBe(
      'input-required/task-1 asks Which?',
    );
    const failure = answerOfTask(
      task('AUTH_REQUIRED', 'x'),
      context('{{#authRequired}}Log in: {{text}}{{/authRequired}}'),
    );
    await expect(failure).rejects.toMatchObject({ code: 'AGENT_AUTH_REQUIRED', forPerson: 'Log in: x' });
    const silent = answerOfTask(task('REJECTED', 'x'), context('{{#completed}}{{text}}{{/completed}}'));
    await expect(silent).rejects.toMatchObject({ code: 'AGENT_TASK_REJECTED', forPerson: undefined });
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
