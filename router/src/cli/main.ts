#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { setHeapFlags } from '../config/heap-flags.ts';

setHeapFlags();
const args = process.argv.slice(2);
// The settings of the service in this folder. `start` reads them as the service does; `agent` needs none.
if (existsSync('.env') && args[0] !== 'start' && args[0] !== 'agent') process.loadEnvFile('.env');

// `wa2ai messages | head -1`: the reader has enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

/** Reads one line. Ctrl-C and the end of input are an empty answer. */
async function ask(question: string): Promise<string> {
  const { createInterface } = await import('node:readline');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  return new Promise((resolve) => {
    terminal.once('SIGINT', () => terminal.close());
    terminal.once('close', () => resolve(''));
    terminal.question(question, (answer) => {
      resolve(answer);
      terminal.close();
    });
  });
}

const { runCli } = await import('./run-cli.ts');
process.exitCode = await runCli(args, {
  env: process.env,
  write: (text) => void process.stdout.write(text),
  writeError: (text) => void process.stderr.write(text),
  isTerminal: process.stdout.isTTY === true,
  columns: process.stdout.isTTY ? process.stdout.columns : undefined,
  now: () => Date.now(),
  sleep: (ms, signal) => setTimeout(ms, undefined, { signal }),
  ask: process.stdin.isTTY === true ? ask : undefined,
  untilInterrupted: () => {
    const ended = new AbortController();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ended.abort());
    return ended.signal;
  },
});
