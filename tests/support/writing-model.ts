import { onTestFinished } from 'vitest';
import { startOpenAiServer } from '../doubles/openai-server.ts';

/** An answer that a test writes piece by piece. */
export class Answer implements AsyncIterable<string> {
  #pieces: string[] = [];
  #hasEnded = false;
  #arrived: () => void = () => undefined;

  write(text: string): void {
    this.#pieces.push(text);
    this.#arrived();
  }

  end(text = ''): void {
    this.#hasEnded = true;
    this.write(text);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    for (;;) {
      const arrived = new Promise<void>((resolve) => {
        this.#arrived = resolve;
      });
      yield* this.#pieces.splice(0);
      if (this.#hasEnded && this.#pieces.length === 0) return;
      await arrived;
    }
  }
}

/** A model behind OpenAI's API whose answers the test writes, in the order of the questions. */
export async function writingModel(): Promise<{ url: string; nextAnswer(): Promise<Answer> }> {
  const answers: Answer[] = [];
  const waiting: Array<(answer: Answer) => void> = [];
  const server = await startOpenAiServer({
    pieces: () => {
      const answer = new Answer();
      const next = waiting.shift();
      if (next) next(answer);
      else answers.push(answer);
      return answer;
    },
  });
  onTestFinished(() => server.close());
  const nextAnswer = async () => answers.shift() ?? new Promise<Answer>((resolve) => waiting.push(resolve));
  return { url: server.url, nextAnswer };
}
