/** A task at an agent, opened for a message. `isOpen`: it may still run, or its end is not yet in the chat. */
export interface StoredTask {
  /** The agent's own id. */
  remoteId: string;
  isOpen: boolean;
}

/** What an agent needs to continue the conversation with one person in one chat. */
export interface AgentSession {
  /** The agent's id of the conversation. */
  contextId: string;
  /** The task that waits for the person's next message; absent when none does. */
  taskId?: string;
}
