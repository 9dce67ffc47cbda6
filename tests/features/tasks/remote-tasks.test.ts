import { beforeEach, expect, it } from 'vitest';
import type { AgentExchange } from '../../../router/src/core/agent-exchange.ts';
import type { NewReport, TaskListQuery, TaskOwner } from '../../../router/src/core/tasks.ts';
import type { TurnResult } from '../../../router/src/core/turns/turn.ts';
import { aMessage, anAccount, aPerson, aReply, describeStores, NODE } from '../../contracts/adapters.ts';

let routes = 0;

describeStores('tasks of agents in $name', (stores) => {
  let accountId: string;
  let routeId: string;
  beforeEach(() => {
    accountId = anAccount();
    routes += 1;
    routeId = `01900000-0000-7000-8000-${String(routes).padStart(12, '0')}`;
  });

  const started = (): TurnResult => ({ state: 'answered', reason: 'task-started', routeId, replies: [] });

  async function aStoredMessage(
    person = aPerson(),
  ): Promise<TaskOwner & { person: ReturnType<typeof aPerson> }> {
    const { messageId } = await stores.inbox.add(aMessage(accountId, person), NODE);
    return { accountId, messageId, routeId, person };
  }

  /** A message whose turn left this task running. */
  async function aFollowedTask(remoteId = 'task-1') {
    const owner = await aStoredMessage();
    await stores.remoteTasks.add(owner, remoteId);
    await stores.inbox.finishTurn(owner.messageId, {
      ...started(),
      replies: [aReply(accountId, `${owner.person.phone}@s.whatsapp.net`, 'started')],
    });
    const taskId = await stores.remoteTasks.startedBy(owner.messageId);
    if (taskId === undefined) throw new Error('the task is not followed');
    return { ...owner, taskId };
  }

  const reportOf = (number: number, text: string, more: Partial<NewReport> = {}): NewReport => ({
    number,
    replies: [aReply(accountId, '1@s.whatsapp.net', text)],
    ...more,
  });

  it('keeps each task of a message once, in order', async () => {
    const owner = await aStoredMessage();
    for (const remoteId of ['a', 'b', 'a']) await stores.remoteTasks.add(owner, remoteId);
    expect(await stores.remoteTasks.ofMessage(owner)).toEqual([
      { remoteId: 'a', isOpen: true },
      { remoteId: 'b', isOpen: true },
    ]);
    expect(await stores.remoteTasks.ofMessage({ ...owner, routeId: 'other' })).toEqual([]);
  });

  it('shows the tasks of the chat only, newest first', async () => {
    const person = aPerson();
    const [first, second] = [await aStoredMessage(person), await aStoredMessage(person)];
    const stranger = await aStoredMessage();
    await stores.remoteTasks.add(first, 'a');
    await stores.remoteTasks.add(stranger, 'b');
    await stores.remoteTasks.add(second, 'c');
    expect(await stores.remoteTasks.ofChat(first)).toEqual([
      { remoteId: 'c', isOpen: true },
      { remoteId: 'a', isOpen: true },
    ]);
    expect((await stores.remoteTasks.known(routeId, ['a', 'b', 'x'])).sort()).toEqual(['a', 'b']);
  });

  it('lists tasks for operators, newest first, by state, chat and route', async () => {
    const person = aPerson();
    const owner = await aStoredMessage(person);
    await stores.remoteTasks.add(owner, 'a');
    const { taskId, person: other } = await aFollowedTask('b');
    const [newest, oldest] = await stores.remoteTasks.list({ accountId, limit: 10 });
    expect(newest).toMatchObject({ id: taskId, remoteId: 'b', routeId, accountId, state: 'open' });
    expect(oldest).toMatchObject({
      ...{ remoteId: 'a', messageId: owner.messageId, channelId: person.phone, state: 'open' },
      createdAt: expect.any(Date),
    });
    expect(await stores.remoteTasks.get(taskId)).toEqual(newest);
    expect(await stores.remoteTasks.get('999999999')).toBeUndefined();
    expect(await stores.remoteTasks.get('no id')).toBeUndefined();

    const ids = async (query: Partial<TaskListQuery>) => {
      const found = await stores.remoteTasks.list({ accountId, limit: 10, ...query });
      return found.map(({ remoteId }) => remoteId);
    };
    await stores.remoteTasks.report(taskId, reportOf(1, 'done', { end: { state: 'done' } }));
    expect(await stores.remoteTasks.get(taskId)).toMatchObject({ state: 'ended', endedAt: expect.any(Date) });
    expect(await ids({ state: 'open' })).toEqual(['a']);
    expect(await ids({ state: 'ended' })).toEqual(['b']);
    expect(await ids({ chats: [other.phone ?? ''] })).toEqual(['b']);
    expect(await ids({ chats: [] })).toEqual([]);
    expect(await ids({ routes: ['another'] })).toEqual([]);
    expect(await ids({ routes: [routeId], limit: 1 })).toEqual(['b']);
    expect(await ids({ before: taskId })).toEqual(['a']);
  });

  it('follows a task from the end of its turn on, and no task that the turn reported', async () => {
    const owner = await aStoredMessage();
    await stores.remoteTasks.add(owner, 'a');
    expect(await stores.remoteTasks.startedBy(owner.messageId)).toBeUndefined();
    await stores.inbox.finishTurn(owner.messageId, started());
    const taskId = await stores.remoteTasks.startedBy(owner.messageId);
    expect(await stores.remoteTasks.unfollowed(10_000)).toContain(taskId);

    const other = await aStoredMessage();
    await stores.remoteTasks.add(other, 'b');
    await stores.inbox.finishTurn(other.messageId, { state: 'answered', routeId, replies: [] });
    expect(await stores.remoteTasks.startedBy(other.messageId)).toBeUndefined();
    await stores.remoteTasks.unfollowed(10_000);
    expect(await stores.remoteTasks.ofMessage(other)).toEqual([{ remoteId: 'b', isOpen: false }]);
  });

  it('keeps the tasks of a turn that has not ended', async () => {
    const owner = await aStoredMessage();
    await stores.remoteTasks.add(owner, 'a');
    await stores.remoteTasks.unfollowed(10_000);
    expect(await stores.remoteTasks.ofMessage(owner)).toEqual([{ remoteId: 'a', isOpen: true }]);
  });

  it('follows only the newest task of a message', async () => {
    const owner = await aStoredMessage();
    await stores.remoteTasks.add(owner, 'a');
    await stores.remoteTasks.add(owner, 'b');
    await stores.inbox.finishTurn(owner.messageId, started());
    const taskId = (await stores.remoteTasks.startedBy(owner.messageId)) ?? '';
    expect(await stores.remoteTasks.followed(taskId)).toMatchObject({ remoteId: 'b' });
    await stores.remoteTasks.unfollowed(10_000);
    expect(await stores.remoteTasks.ofMessage(owner)).toEqual([
      { remoteId: 'a', isOpen: false },
      { remoteId: 'b', isOpen: true },
    ]);
  });

  it('returns a followed task with its message and where its reports go', async () => {
    const { taskId, messageId, person } = await aFollowedTask();
    expect(await stores.remoteTasks.followed(taskId)).toMatchObject({
      taskId,
      remoteId: 'task-1',
      routeId,
      accountId,
      messageId,
      message: { from: `${person.phone}@s.whatsapp.net`, text: expect.stringContaining('text') },
      replyTo: `${person.phone}@s.whatsapp.net`,
      reports: 0,
      ageMs: expect.any(Number),
    });
    expect(await stores.remoteTasks.followed('999999999')).toBeUndefined();
  });

  it('stores each report once, after the replies of the turn', async () => {
    const { taskId, messageId } = await aFollowedTask();
    const first = await stores.remoteTasks.report(taskId, reportOf(1, '25 %', { position: '25' }));
    expect(first).toMatchObject([{ messageId, message: { text: '25 %' } }]);
    expect(await stores.remoteTasks.report(taskId, reportOf(1, '25 % again'))).toEqual([]);
    expect(await stores.remoteTasks.report(taskId, reportOf(3, 'too early'))).toEqual([]);
    expect(await stores.remoteTasks.followed(taskId)).toMatchObject({ reports: 1, position: '25' });
    await stores.remoteTasks.report(taskId, reportOf(2, 'done', { end: { state: 'done' } }));
    expect(await stores.remoteTasks.report(taskId, reportOf(3, 'late'))).toEqual([]);
    const queued = await stores.outbox.queued(accountId, 100);
    expect(queued.map(({ message }) => message.text)).toEqual(['started', '25 %', 'done']);
    expect(await stores.remoteTasks.followed(taskId)).toBeUndefined();
    expect(await stores.log.message(messageId)).toMatchObject({ state: 'answered', replies: [{}, {}, {}] });
    expect((await stores.log.message(messageId))?.reason).toBeUndefined();
  });

  it('stores the exchanges that brought a report, with the report', async () => {
    const { taskId, messageId } = await aFollowedTask();
    const exchangeOf = (body: string): AgentExchange => ({
      at: '2026-01-31T12:00:00.000Z',
      request: { method: 'POST', url: 'http://agent/task', headers: {}, body },
    });
    const exchanges = [exchangeOf('1'), exchangeOf('2')];
    await stores.remoteTasks.report(taskId, reportOf(1, '25 %', { exchanges }));
    await stores.remoteTasks.report(taskId, reportOf(1, '25 %', { exchanges }));
    await stores.remoteTasks.report(taskId, reportOf(2, '50 %'));
    const end = { state: 'done' } as const;
    await stores.remoteTasks.report(taskId, reportOf(3, 'done', { exchanges: [exchangeOf('3')], end }));
    await stores.remoteTasks.report(taskId, reportOf(4, 'late', { exchanges: [exchangeOf('4')] }));
    expect(await stores.log.exchanges(messageId)).toEqual([...exchanges, exchangeOf('3')]);
  });

  it('stores the files of a report', async () => {
    const { taskId } = await aFollowedTask();
    const file = new Uint8Array([1, 2, 3]);
    const media = { kind: 'image' as const, mimeType: 'image/png', sizeBytes: 3 };
    const replies = [{ ...aReply(accountId, '1@s.whatsapp.net', 'a caption'), media, file }];
    const [stored] = await stores.remoteTasks.report(taskId, { number: 1, replies, end: { state: 'done' } });
    expect(stored?.message).toMatchObject({ text: 'a caption', media });
    expect(Buffer.from((await stores.outbox.fileOf(stored?.outboxId ?? ''))?.bytes ?? [])).toEqual(
      Buffer.from(file),
    );
  });

  it('makes the message of a failed task a dead letter, whose replay may open another task', async () => {
    const { taskId, messageId, ...owner } = await aFollowedTask();
    const end = { state: 'failed' as const, reason: 'AGENT_TASK_FAILED', error: 'It failed.' };
    await stores.remoteTasks.report(taskId, reportOf(1, 'Task failed.', { end }));
    expect(await stores.log.message(messageId)).toMatchObject({ state: 'dead', reason: 'AGENT_TASK_FAILED' });
    const [letter] = await stores.log.deadLetters({ accountId, limit: 5 });
    expect(letter).toMatchObject({ reason: 'AGENT_TASK_FAILED', error: 'It failed.' });
    await stores.deadLetters.replay(letter?.id ?? '', NODE);
    expect(await stores.remoteTasks.ofMessage({ ...owner, messageId })).toEqual([
      { remoteId: 'task-1', isOpen: false },
    ]);
    await stores.remoteTasks.add({ ...owner, messageId }, 'task-2');
    await stores.inbox.finishTurn(messageId, started());
    const again = (await stores.remoteTasks.startedBy(messageId)) ?? '';
    expect(await stores.remoteTasks.followed(again)).toMatchObject({ remoteId: 'task-2' });
  });

  it('keeps a session of each person at each route', async () => {
    const key = { accountId, routeId, sessionId: '5493_5493' };
    expect(await stores.remoteTasks.session(key)).toBeUndefined();
    await stores.remoteTasks.saveSession(key, { contextId: 'c1', taskId: 't1' });
    expect(await stores.remoteTasks.session(key)).toEqual({ contextId: 'c1', taskId: 't1' });
    await stores.remoteTasks.saveSession(key, { contextId: 'c1' });
    expect(await stores.remoteTasks.session(key)).toEqual({ contextId: 'c1' });
    expect(await stores.remoteTasks.session({ ...key, sessionId: 'other' })).toBeUndefined();
    expect(await stores.remoteTasks.session({ ...key, routeId: 'other' })).toBeUndefined();
    // The same person and the same route at another account is another conversation.
    const other = { ...key, accountId: `${accountId}-other` };
    expect(await stores.remoteTasks.session(other)).toBeUndefined();
    await stores.remoteTasks.saveSession(other, { contextId: 'c2', taskId: 't2' });
    expect(await stores.remoteTasks.session(key)).toEqual({ contextId: 'c1' });
  });
});
