import { describe, expect, it, onTestFinished } from 'vitest';
import { packageVersion } from '../../../router/src/config/package-version.ts';
import { agentKinds } from '../../../router/src/infra/agents/agent-kinds.ts';
import { suggestedLimitMs } from '../../../router/src/infra/agents/agent-tools.ts';
import { StandInServer } from '../../doubles/stand-in-server.ts';
import { serverOf } from '../../support/abi.ts';
import { runWa2ai } from '../../support/cli.ts';

const kindNames = agentKinds.filter(({ tools }) => tools).map(({ name }) => name);

const wa2ai = (...args: string[]) => runWa2ai(args);

/** An ADK server that has one agent, and answers every run with `status`. */
function anAdkServer(status = 200) {
  return serverOf((request, response) => {
    if (request.url === '/list-apps') response.end('["greeter"]');
    else response.writeHead(status).end('[]');
  });
}

describe('wa2ai on the command line', () => {
  it('shows its version', async () => {
    expect(await wa2ai('--version')).toEqual({ code: 0, output: `${packageVersion()}\n`, errors: '' });
  });

  it('shows help without a command', async () => {
    const { code, output, errors } = await wa2ai();
    expect([code, errors]).toEqual([0, '']);
    expect(output).toMatch(/^Usage: wa2ai \[options\] \[command\]/);
    expect(output).toMatch(/Exit codes:/);
  });

  it.each(['test', 'inspect', 'check'])('shows the options of every kind for agent %s', async (verb) => {
    const { code, output } = await wa2ai('agent', verb, '--help');
    expect(code).toBe(0);
    expect(output).toMatch(new RegExp(`^wa2ai agent ${verb} URL`));
    expect(output).toMatch(/^adk: [\s\S]*^abi: [\s\S]*--abi FILE/m);
    expect(output).toContain('--timeout MS');
  });

  it.each([
    [['agent', 'nonsense', 'http://a'], 'unknown command "agent nonsense"; use agent test,'],
    [['nonsense'], 'unknown command "nonsense"'],
    [['audit'], 'a command is missing after "wa2ai audit"; use '],
    [['status', 'x'], 'too many arguments for "status"'],
    [['status', '--url'], 'option "--url <url>" argument missing'],
    [['status', '--url', 'localhost'], 'the URL of wa2ai must begin with http:// or https://'],
    [['status', '--key-file', '/nowhere/key'], 'the file of --key-file cannot be read: /nowhere/key'],
    [['agent'], 'a command is missing'],
    [['agent', 'test'], 'the URL of the agent is missing'],
    [['agent', 'test', 'localhost:8080'], 'the URL of the agent must begin with http:// or https://'],
    [['agent', 'test', 'ftp://agent'], 'the URL of the agent must begin with http:// or https://'],
    [['agent', 'test', 'http://'], 'the URL of the agent must begin with http:// or https://'],
    [['agent', 'test', 'http://a', 'b'], 'unexpected argument "b"'],
    [['completion', 'tcsh'], 'the shell must be bash, zsh or fish, not "tcsh"'],
    [['logs', '--level', 'loud'], '--level must be trace, debug, info, warn, error or fatal, not "loud"'],
    [['agent', 'test', 'http://a', '--nonsense'], 'unknown option "--nonsense"'],
    [['agent', 'test', 'http://a', '--kind', 'soap'], `--kind must be ${kindNames.join(' or ')}`],
    [
      ['agent', 'test', 'http://a', '--app', 'x', '--abi', 'y'],
      'these options belong to agents of different',
    ],
    [['agent', 'test', 'http://a', '--kind', 'adk'], '--message is missing'],
    [['agent', 'test', 'http://a', '--message', 'x', '--timeout', '0'], '--timeout must be'],
    [['agent', 'test', 'http://a', '--message', 'x', '--timeout', '1.5'], '--timeout must be'],
    [['agent', 'test', 'http://a', '--message', 'x', '--timeout', 'soon'], '--timeout must be'],
  ])('reports what is wrong with %j in one line', async (args, sentence) => {
    const { code, output, errors } = await wa2ai(...args);
    expect(code).toBe(2);
    expect(errors.startsWith(`wa2ai: ${sentence}`), errors).toBe(true);
    expect(errors).toMatch(/\(see wa2ai (--help|help [a-z]+)\)\n$/);
    expect(errors.trimEnd().split('\n')).toHaveLength(1);
    expect(output).toBe('');
  });
});

describe('wa2ai after a slip', () => {
  it.each([
    [['statsu'], 'wa2ai: unknown command "statsu". Did you mean status?\n'],
    [['audit', 'verfy'], 'wa2ai: unknown command "verfy". Did you mean verify?\n'],
    [['status', '--jsn'], 'wa2ai: unknown option "--jsn". Did you mean --json?\n'],
  ])('suggests what %j may mean', async (args, sentence) => {
    expect(await wa2ai(...args)).toEqual({ code: 2, output: '', errors: sentence });
  });
});

describe('wa2ai agent', () => {
  it('detects the kind of the agent', async () => {
    const { url } = await anAdkServer();
    expect(await wa2ai('agent', 'inspect', url)).toEqual({
      code: 0,
      output: expect.stringMatching(
        /^http\S+\nkind +adk\nanswer +status 200, \d+ ms\ncapabilities +agent greeter\n/,
      ),
      errors: '',
    });
  });

  it('chooses the only kind that has the given option, without a request', async () => {
    const { url } = await anAdkServer();
    expect((await wa2ai('agent', 'test', url, '--app', 'greeter')).errors).toMatch(/--message is missing/);
  });

  it('writes the report as JSON on request', async () => {
    const { url } = await anAdkServer();
    const { output } = await wa2ai('agent', 'inspect', url, '--json');
    expect(JSON.parse(output)).toMatchObject({ kind: 'adk', url, isReachable: true, apps: ['greeter'] });
  });

  it('ends with 1 when the agent fails a check', async () => {
    const { url } = await anAdkServer(500);
    const { code, output, errors } = await wa2ai('agent', 'check', url);
    expect(output).toMatch(/1 of 2 checks failed\.\n$/);
    expect([code, errors]).toEqual([1, '']);
  });

  it('ends with 1 and one sentence when the agent answers with an error', async () => {
    const { url } = await anAdkServer(401);
    const { code, errors } = await wa2ai('agent', 'test', url, '--message', 'hi');
    expect([code, errors]).toEqual([1, 'wa2ai: ADK agent endpoint returned 401: []\n']);
  });

  it('ends with 1 when a server answers 404 to everything, and names no kind', async () => {
    const server = await StandInServer.start(() => ({ status: 404 }));
    onTestFinished(() => server.close());
    const { code, output, errors } = await wa2ai('agent', 'inspect', server.url);
    expect([code, output]).toEqual([1, '']);
    expect(errors).toBe(
      `wa2ai: ${server.url} answers HTTP, protocol unknown. Check the path, or name its kind with --kind ${kindNames.join('|')}.\n`,
    );
  });

  it('ends with 1 when no agent of any kind answers', async () => {
    const { code, errors } = await wa2ai('agent', 'inspect', 'http://127.0.0.1:9');
    expect(code).toBe(1);
    expect(errors).toBe(
      `wa2ai: No agent answers at http://127.0.0.1:9. Start it, or name its kind with --kind ${kindNames.join('|')}.\n`,
    );
  });
});

describe('wa2ai agent test with a slow agent', () => {
  it('names a longer limit when the agent did not answer in time', async () => {
    const agent = await serverOf((request, response) => {
      if (request.url === '/list-apps') response.end('["greeter"]');
    });
    const { code, errors } = await wa2ai(
      ...[
        'agent',
        'test',
        agent.url,
        '--kind',
        'adk',
        '--app',
        'greeter',
        '--message',
        'x',
        '--timeout',
        '100',
      ],
    );
    expect([code, errors]).toEqual([
      1,
      expect.stringMatching(/Try --timeout 10000; a route needs such a `timeoutMs`\.\n$/),
    ]);
  });

  it.each([
    [19_000, false, undefined],
    [21_000, false, 50_000],
    [41_000, false, 90_000],
    [30_000, true, 60_000],
    [3_000_000, true, 3_600_000],
  ])('an agent that needed %i ms, ended: %s, gets the limit %s', (neededMs, isEnded, expected) => {
    expect(suggestedLimitMs(neededMs, 30_000, isEnded)).toBe(expected);
  });
});
