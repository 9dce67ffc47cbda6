/** An event of a stream; `data` is the task. */
export interface TaskEvent {
  id: string;
  event: string;
  data: Record<string, unknown>;
}

/** A program that calls the NPC server of one node. */
export class NpcCaller {
  readonly #url: string;
  readonly #key: string | undefined;

  constructor(url: string, key?: string) {
    this.#url = url;
    this.#key = key;
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of many shapes
  async rpc(method: string, params: unknown, headers: Record<string, string> = {}): Promise<any> {
    const response = await fetch(`${this.#url}/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...this.#headers(), ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', method, params, id: 1 }),
    });
    const body = (await response.json()) as object;
    return { ...body, headers: Object.fromEntries(response.headers) };
  }

  /** @returns the result @throws {Error} the response is an error */
  async result(method: string, params: unknown, headers: Record<string, string> = {}) {
    const { result, error } = await this.rpc(method, params, headers);
    if (error) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result as Record<string, unknown>;
  }

  /** @returns the id of the opened task */
  async open(type: string, params: unknown, headers: Record<string, string> = {}): Promise<string> {
    return String((await this.result('task.open', { type, params }, headers)).taskId);
  }

  /** @returns the events until the stream ends. @param lastEventId those after it */
  async *events(taskId: string, lastEventId?: string): AsyncGenerator<TaskEvent, void, undefined> {
    const last: Record<string, string> = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
    const response = await fetch(`${this.#url}/stream/${taskId}`, {
      headers: { ...this.#headers(), ...last },
    });
    if (response.status !== 200 || !response.body)
      throw new Error(`the stream is refused: ${response.status}`);
    let text = '';
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const [, id, event, data] = /^id: (\d+)\nevent: (\S+)\ndata: (.*)$/.exec(block) ?? [];
        if (id && event && data) yield { id, event, data: JSON.parse(data) };
      }
    }
  }

  /** The last event of a task that ends. */
  async ended(taskId: string): Promise<TaskEvent> {
    let last: TaskEvent | undefined;
    for await (const event of this.events(taskId)) last = event;
    if (!last) throw new Error('the stream had no event');
    return last;
  }

  #headers(): Record<string, string> {
    return this.#key === undefined ? {} : { 'x-api-key': this.#key };
  }
}
