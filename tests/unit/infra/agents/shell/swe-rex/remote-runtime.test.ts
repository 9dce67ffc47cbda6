import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { RemoteRuntime } from '../../../../../../router/src/infra/agents/shell/swe-rex/remote-runtime.ts';
import { AgentTransport } from '../../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { FakeClock } from '../../../../../support/fake-clock.ts';
import { mockNetwork } from '../../../../../support/mocked-network.ts';

mockNetwork();

const origin = 'http://runtime.test';
const TOKEN = 'the-secret-token';
const observed = { output: '', exit_code: 0, failure_reason: '', expect_string: '', session_type: 'bash' };
const run = { session: 's', timeoutMs: 2_500, requestId: 'r1' };

function setup({ url = origin, clock = new FakeClock() } = {}) {
  return new RemoteRuntime({ url, token: TOKEN, transport: new AgentTransport(), clock, startMs: 20_000 });
}

/** An answer to one request, whose body is recorded. */
function answer(path: string, status: number, body: unknown, headers: Record<string, string> = {}) {
  const sent: Array<{ body: unknown; headers: Record<string, unknown> }> = [];
  nock(origin)
    .post(path)
    .reply(function (_, given) {
      sent.push({ body: given, headers: this.req.headers });
      return [status, body as nock.Body, headers];
    });
  return sent;
}

const fault = (class_path: string, extra_info: object = {}, message = 'said by the runtime') => ({
  swerexception: { message, class_path, traceback: 'Traceback: /srv/secret.py', extra_info },
});

describe('RemoteRuntime', () => {
  it('sends a command with its time limit in seconds, the key and the id of the request', async () => {
    const sent = answer('/run_in_session', 200, { ...observed, output: 'a\r\nb\n', exit_code: 3 });
    await expect(setup().run('ls', run)).resolves.toEqual({ output: 'a\nb\n', exitCode: 3 });
    expect(sent[0]?.body).toEqual({
      ...{ action_type: 'bash', session: 's', command: 'ls', timeout: 2.5, check: 'silent' },
    });
    expect(sent[0]?.headers).toMatchObject({ 'x-api-key': TOKEN, 'x-request-id': 'r1' });
    expect(sent[0]?.headers).not.toHaveProperty('x-request-replay');
  });

  it('marks a request that only asks for the answer to an earlier one', async () => {
    const sent = answer('/run_in_session', 200, { ...observed, exit_code: null });
    const result = await setup().run('', { ...run, isRepeatOnly: true });
    expect(result.exitCode).toBeUndefined();
    expect(sent[0]?.headers).toMatchObject({ 'x-request-replay': 'only' });
  });

  it('reports that the runtime does not know an earlier request', async () => {
    answer('/run_in_session', 409, { detail: 'This request is not known' });
    const asked = setup().run('', { ...run, isRepeatOnly: true });
    await expect(asked).rejects.toMatchObject({ code: 'SHELL_ERROR', fault: 'not-known' });
  });

  it('knows after an answer whether the runtime repeats answers', async () => {
    const [ours, original] = [setup(), setup()];
    answer('/create_session', 200, {}, { 'x-request-replay': 'yes' });
    await ours.createSession('s');
    answer('/create_session', 200, {});
    await original.createSession('s');
    expect([ours.canReplay, original.canReplay]).toEqual([true, false]);
  });

  it('creates, interrupts and closes a session', async () => {
    const created = answer('/create_session', 200, { output: '', session_type: 'bash' });
    const interrupted = answer('/run_in_session', 200, { ...observed, output: 'partial' });
    const closed = answer('/close_session', 200, { session_type: 'bash' });
    const runtime = setup();
    await runtime.createSession('s');
    await expect(runtime.interrupt('s')).resolves.toBe('partial');
    await runtime.closeSession('s');
    expect([created, interrupted, closed].map(([first]) => first?.body)).toEqual([
      { session: 's', session_type: 'bash', startup_source: [], startup_timeout: 10 },
      { action_type: 'bash_interrupt', session: 's', timeout: 0.5, n_retry: 3 },
      { session: 's', session_type: 'bash' },
    ]);
  });

  it('runs a program outside of sessions', async () => {
    const sent = answer('/execute', 200, { stdout: 'o', stderr: 'e', exit_code: -9 });
    const result = await setup().execute(['ls', '-l'], { timeoutMs: 1_000, cwd: '/tmp' });
    expect(result).toEqual({ stdout: 'o', stderr: 'e', exitCode: -9 });
    const body = { command: ['ls', '-l'], shell: false, timeout: 1, check: false, cwd: '/tmp' };
    expect(sent[0]?.body).toEqual(body);
  });

  it('uploads bytes unchanged as a form', async () => {
    const sent = answer('/upload', 200, {});
    await setup().upload('/data/a b.bin', new TextEncoder().encode('some bytes'));
    const type = String(sent[0]?.headers['content-type']);
    const form = await new Response(String(sent[0]?.body), { headers: { 'content-type': type } }).formData();
    expect(await (form.get('file') as File).text()).toBe('some bytes');
    expect([form.get('target_path'), form.get('unzip')]).toEqual(['/data/a b.bin', 'false']);
  });

  it.each([`${origin}/base`, `${origin}/base/`])('keeps the path of the address %s', async (url) => {
    answer('/base/close_session', 200, {});
    await expect(setup({ url }).closeSession('s')).resolves.toBeUndefined();
  });

  it.each([
    ['swerex.exceptions.BashIncorrectSyntaxError', 'syntax'],
    ['swerex.exceptions.CommandTimeoutError', 'timeout'],
    ['swerex.exceptions.SessionDoesNotExistError', 'session-missing'],
    ['swerex.exceptions.SessionExistsError', 'session-exists'],
    ['pexpect.exceptions.EOF', 'session-ended'],
    ['pexpect.exceptions.TIMEOUT', 'not-interrupted'],
    ['builtins.FileNotFoundError', 'file'],
    ['builtins.ZeroDivisionError', 'other'],
    ['', 'other'],
  ])('takes the error class %s for the fault %s, without the traceback', async (classPath, expected) => {
    answer('/run_in_session', 511, fault(classPath));
    const error = await setup()
      .run('cat my-secret-file', run)
      .catch((caught: unknown) => caught);
    expect(error).toMatchObject({ fault: expected, forPerson: 'said by the runtime' });
    expect(JSON.stringify(error) + String(error)).not.toMatch(/Traceback|my-secret-file/);
  });

  it('takes an error in another form for the fault other', async () => {
    answer('/run_in_session', 511, '<html>');
    await expect(setup().run('x', run)).rejects.toMatchObject({ fault: 'other' });
  });

  it('shows what bash says of the syntax, and the output of a shell that ended', async () => {
    const runtime = setup();
    const said = async (body: object) => {
      answer('/run_in_session', 511, body);
      return await runtime.run('x', run).catch((error: { forPerson: string }) => error.forPerson);
    };
    const syntax = { bash_stdout: '', bash_stderr: 'bash: line 1: unexpected EOF' };
    expect(await said(fault('swerex.exceptions.BashIncorrectSyntaxError', syntax))).toBe(syntax.bash_stderr);
    expect(await said(fault('pexpect.exceptions.EOF', { output: 'bye\n', exit_code: 1 }))).toBe('bye\n');
  });

  it.each([
    [401, 'AGENT_ACCESS_DENIED'],
    [403, 'AGENT_ACCESS_DENIED'],
    [404, 'AGENT_PROTOCOL'],
    [422, 'AGENT_PROTOCOL'],
    [503, 'AGENT_UNAVAILABLE'],
    [504, 'AGENT_TIMEOUT'],
  ])('ends with the status %i in %s, and does not repeat what the answer quotes', async (status, code) => {
    answer('/run_in_session', status, { detail: 'cat my-secret-file' });
    const error = await setup()
      .run('cat my-secret-file', run)
      .catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code });
    expect(String(error)).not.toContain('my-secret-file');
  });

  it.each([
    ['no JSON', '<html>'],
    ['another form', { output: 5 }],
  ])('refuses an answer with %s', async (_, body) => {
    answer('/run_in_session', 200, body);
    await expect(setup().run('x', run)).rejects.toMatchObject({ code: 'AGENT_PROTOCOL' });
  });

  it('waits five seconds longer than the command may take', async () => {
    const clock = new FakeClock();
    nock(origin).post('/run_in_session').delay(3_600_000).reply(200, observed);
    let isOver = false;
    const asked = setup({ clock })
      .run('x', run)
      .catch((error: unknown) => error)
      .finally(() => {
        isOver = true;
      });
    await clock.untilSleeping();
    await clock.advanceMs(7_499);
    expect(isOver).toBe(false);
    await clock.advanceMs(1);
    await expect(asked).resolves.toMatchObject({ code: 'AGENT_TIMEOUT' });
  });

  it('ends with its signal, with the reason of the signal', async () => {
    nock(origin).post('/run_in_session').delay(3_600_000).reply(200, observed);
    const stopping = new AbortController();
    const asked = setup().run('x', { ...run, signal: stopping.signal });
    stopping.abort(new Error('wa2ai stops'));
    await expect(asked).rejects.toThrow('wa2ai stops');
  });
});
