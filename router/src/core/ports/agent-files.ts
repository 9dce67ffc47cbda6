import type { AgentPlace } from './agent-runtime.ts';

/** One file of an agent. */
export interface AgentFileInfo {
  /** Within the agent's folder, with slashes: `workspace/notes.txt`. */
  path: string;
  bytes: number;
  changedAtMs: number;
}

/** What the data of an agent takes on the disk. */
export interface AgentUsage {
  /** Each file, folder and link counts with at least 4,096, which bounds their number too. */
  bytes: number;
  /** Path of something that could not be measured: more may be there. */
  unread?: string;
}

/** The data of hosted agents: `session.json` and `workspace/` of each, in a folder that its program alone may change. */
export interface AgentFiles {
  /** Identifies the folder of all agents. Nodes that share it can start each other's agents. */
  folderId(): Promise<string>;
  /**
   * Makes the folder of an agent, with a new token when `isNew`.
   * @param owner of the files: `1000:1000`; absent: the user of wa2ai
   */
  prepare(agentId: string, options: { isNew: boolean; owner?: string }): Promise<AgentPlace>;
  /** The agent's token; undefined when it has none yet. */
  token(agentId: string): Promise<string | undefined>;
  /** What its data takes on the disk. Counting ends above the limit. */
  usage(agentId: string, limitBytes?: number): Promise<AgentUsage>;
  /** Free bytes on the disk of all agents. */
  freeBytes(): Promise<number>;
  /** Its files, by path; at most `limit`. Links are not followed. */
  list(agentId: string, limit: number): Promise<AgentFileInfo[]>;
  /** The bytes of a file; undefined when it does not exist, is no file, or lies outside of the agent's folder. */
  read(agentId: string, path: string): Promise<Uint8Array | undefined>;
  /**
   * Stores a file, in the place of one with this path, with the owner of the agent's folder. The file is there whole or as it
   * was before. No link is followed; missing folders are made.
   * @returns false: the path is none of a file within the agent's folder, or leads through a link or a file, or is a folder
   * @throws {AgentUnusableError} the file cannot be stored
   */
  write(agentId: string, path: string, bytes: Uint8Array): Promise<boolean>;
  /** All its files as a tar archive; a file that changes meanwhile may be cut. */
  archive(agentId: string): AsyncIterable<Uint8Array>;
  /**
   * Deletes a file or folder; nothing happens when it does not exist. The agent's own folder stays.
   * @throws {AgentUnusableError} it cannot be deleted
   */
  delete(agentId: string, path: string): Promise<void>;
  /** Deletes all data of an agent, and its token. */
  remove(agentId: string): Promise<void>;
}
