import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { nodeMessage } from '../../../core/cluster/node-bus.ts';
import type { PushedTask, TaskPushes } from '../../../core/tasks.ts';

const BYTES = 16;
/** Below it, agents send their notifications. */
const TASK_PUSHES_PATH = '/task-pushes/';
/** The hash of the task and its signature. */
const TOKEN = /^[\w-]{43}$/;

/** An agent notified of a change of a task; `task` is a hash of its id. */
export const agentTaskChanged = nodeMessage('agent-task-changed', { task: z.string() });

interface SignedTaskPushesDeps {
  /** Where agents reach wa2ai, without a slash at the end. Absent: they cannot. */
  publicUrl?: string;
  /** 32 bytes, the same on all nodes. @throws {StorageUnavailableError} */
  key(): Promise<Uint8Array>;
  /** Makes every node, this one too, call `changed`. */
  publish(task: string): void;
}

/**
 * Addresses that contain the hash of a task with its signature: nobody can guess one, nothing is stored for it, and it works
 * on every node. What a notification says is not read: it only makes wa2ai look at the task.
 */
export class SignedTaskPushes implements TaskPushes {
  readonly #deps: SignedTaskPushesDeps;
  readonly #listeners = new Map<string, Set<() => void>>();

  constructor(deps: SignedTaskPushesDeps) {
    this.#deps = deps;
  }

  async urlOf(task: PushedTask): Promise<string | undefined> {
    const { publicUrl } = this.#deps;
    if (publicUrl === undefined) return undefined;
    const token = await this.#signed(hashOf(task));
    return `${publicUrl}${TASK_PUSHES_PATH}${token.toString('base64url')}`;
  }

  listen(task: PushedTask, onPush: () => void): () => void {
    const name = nameOf(hashOf(task));
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(onPush));
    return () => {
      listeners.delete(onPush);
      if (listeners.size === 0 && this.#listeners.get(name) === listeners) this.#listeners.delete(name);
    };
  }

  /**
   * A notification has arrived.
   * @returns false: its address is none of wa2ai
   * @throws {StorageUnavailableError}
   */
  async receive(token: string): Promise<boolean> {
    if (this.#deps.publicUrl === undefined || !TOKEN.test(token)) return false;
    const sent = Buffer.from(token, 'base64url');
    const hash = sent.subarray(0, BYTES);
    if (!timingSafeEqual(sent, await this.#signed(hash))) return false;
    this.#deps.publish(nameOf(hash));
    return true;
  }

  /** A notification has arrived here or at another node. @param task as `publish` got it */
  changed(task: string): void {
    for (const onPush of [...(this.#listeners.get(task) ?? [])]) onPush();
  }

  async #signed(hash: Uint8Array): Promise<Buffer> {
    const signature = createHmac('sha256', await this.#deps.key())
      .update(hash)
      .digest();
    return Buffer.concat([hash, signature.subarray(0, BYTES)]);
  }
}

function hashOf({ routeId, remoteId }: PushedTask): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([routeId, remoteId]))
    .digest()
    .subarray(0, BYTES);
}

function nameOf(hash: Buffer): string {
  return hash.toString('base64url');
}
