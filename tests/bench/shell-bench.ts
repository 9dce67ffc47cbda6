import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { RemoteRuntime } from '../../router/src/infra/agents/shell/swe-rex/remote-runtime.ts';
import { AgentTransport } from '../../router/src/infra/agents/transport/agent-transport.ts';
import { holdingClock } from '../../router/src/infra/clock/system-clock.ts';
import { repositoryRoot } from '../support/repository.ts';
import { median, round } from './statistics.ts';

const ROUND_MS = 2_000;
const SESSION = 'bench';

/** What is run: a command that needs no check of its syntax, and one that does. */
const COMMANDS = [
  { name: 'plain command', command: 'echo hello' },
  { name: 'command with quotes, checked by bash -n', command: "echo 'hello' | cat" },
];

/** Commands a second, one after the other. */
interface Rate {
  name: string;
  wa2ai: number;
  bare: number;
}

/** A shell that runs one command after the other. */
interface Shell {
  run(command: string): Promise<string>;
  close(): Promise<void>;
}

/**
 * `run_in_session` of the shell runtime as its own process, by wa2ai's client over HTTP, beside a bash with a terminal whose
 * input and output this process has itself. Medians of rounds in which both alternate.
 */
export async function benchShell(rounds: number): Promise<Rate[]> {
  const own = await runtimeShell();
  const bare = await bareShell();
  try {
    const rates: Rate[] = [];
    for (const { name, command } of COMMANDS) {
      const found = { own: [] as number[], bare: [] as number[] };
      for (let each = 0; each < rounds; each++) {
        found.bare.push(await perSecond(bare, command));
        found.own.push(await perSecond(own, command));
      }
      rates.push({ name, wa2ai: round(median(found.own), 0), bare: round(median(found.bare), 0) });
    }
    return rates;
  } finally {
    await own.close();
    await bare.close();
  }
}

/** The results as lines of a table in Markdown. */
export function shellText(rates: readonly Rate[]): string {
  const lines = rates.map(
    ({ name, wa2ai, bare }) =>
      `| ${name} | ${bare} | ${wa2ai} | +${round(1_000 / wa2ai - 1_000 / bare, 2)} ms |`,
  );
  return [
    '| commands a second in one session | bare terminal | run_in_session | added |',
    '| --- | --- | --- | --- |',
    ...lines,
  ].join('\n');
}

async function perSecond(shell: Shell, command: string): Promise<number> {
  const startedMs = performance.now();
  let made = 0;
  for (; performance.now() - startedMs < ROUND_MS; made++) {
    const output = await shell.run(command);
    if (output.trim() !== 'hello') throw new Error(`the shell wrote ${JSON.stringify(output)}`);
  }
  return (made * 1_000) / (performance.now() - startedMs);
}

async function runtimeShell(): Promise<Shell> {
  const folder = mkdtempSync(join(tmpdir(), 'wa2ai-bench-shell-'));
  const token = randomBytes(16).toString('hex');
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, token);
  const child = spawn(process.execPath, [join(repositoryRoot, 'dist/service/shell-runtime.mjs')], {
    env: { PATH: process.env.PATH, HOST: '127.0.0.1', PORT: '0', AUTH_TOKEN_FILE: tokenFile },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const url = `http://127.0.0.1:${/port (\d+)$/.exec(line)?.[1]}`;
  const runtime = new RemoteRuntime({ url, token, transport: new AgentTransport(), clock: holdingClock });
  await runtime.createSession(SESSION);
  let requests = 0;
  return {
    run: async (command) => {
      requests += 1;
      const options = { session: SESSION, timeoutMs: 30_000, requestId: `bench-${requests}` };
      return (await runtime.run(command, options)).output;
    },
    close: async () => {
      await ended(child);
      rmSync(folder, { recursive: true });
    },
  };
}

/** A bash with a terminal; the end of each command is a word that it writes. */
async function bareShell(): Promise<Shell> {
  const end = `end-${randomBytes(8).toString('hex')}`;
  const child = spawn('script', ['-qefc', 'stty -echo; exec bash --norc --noprofile', '/dev/null'], {
    env: { PATH: process.env.PATH, PS1: '', PS2: '', TERM: 'dumb' },
  });
  let text = '';
  let notify: () => void = () => undefined;
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8');
    if (text.includes(end)) notify();
  });
  const run = async (command: string) => {
    const ending = new Promise<void>((resolve) => {
      notify = resolve;
    });
    // the word in two parts, so that an echo of the line does not look like the end
    child.stdin.write(`${command}; printf '%s%s' ${end.slice(0, 4)} ${end.slice(4)}\n`);
    await ending;
    const output = text.slice(0, text.indexOf(end));
    text = '';
    return output;
  };
  await run("PS1=; PS2=; bind 'set enable-bracketed-paste off' 2>/dev/null");
  return { run, close: () => ended(child) };
}

async function ended(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  await exit;
}
