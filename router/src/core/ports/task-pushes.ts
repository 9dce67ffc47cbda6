/** A task at the agent of a route. */
export interface PushedTask {
  routeId: string;
  /** The agent's own id. */
  remoteId: string;
}

/** Notifications by which agents say that a task has changed, so that wa2ai need not look at it again and again. */
export interface TaskPushes {
  /**
   * Where an agent sends the notifications of a task; contains a secret, always the same for one task. Undefined: agents
   * cannot reach wa2ai.
   * @throws {StorageUnavailableError}
   */
  urlOf(task: PushedTask): Promise<string | undefined>;
  /** `onPush` is called after each notification of the task, at whatever node it arrives. Some may be lost. @returns ends it */
  listen(task: PushedTask, onPush: () => void): () => void;
}
