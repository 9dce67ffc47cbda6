/** The messages whose turn left a task running, from the turns to the follower; kept until somebody listens. */
export class StartedTasks {
  #listener: ((messageId: string) => void) | undefined;
  #waiting: string[] = [];

  /** Called by a turn after its end is stored. Returns at once. */
  add(messageId: string): void {
    if (this.#listener) this.#listener(messageId);
    else this.#waiting.push(messageId);
  }

  /** Gives every message to one listener, also those of before. */
  listen(listener: (messageId: string) => void): void {
    this.#listener = listener;
    for (const messageId of this.#waiting.splice(0)) listener(messageId);
  }
}
