import { setTimeout } from 'node:timers/promises';
import { startOpenAiServer } from '../doubles/openai-server.ts';

/** Between two words: an answer takes longer than the second before its first part is shown. */
const WORD_MS = 500;

/** The part of a route's config that asks the slow writer. */
export const SLOW_WRITER_CONFIG = { adk: undefined, openai: { model: 'gpt-test', historyTurns: 0 } };

/** A model that repeats each question, one word after the other. */
export async function startSlowWriter(): Promise<{ url: string; stop(): Promise<void> }> {
  const server = await startOpenAiServer({ pieces: slowly });
  return { url: server.url, stop: () => server.close() };
}

async function* slowly(text: string): AsyncGenerator<string> {
  for (const word of text.split(/(?<=\s)/)) {
    await setTimeout(WORD_MS);
    yield word;
  }
}
