import type { ServerResponse } from 'node:http';
import { hasEnded, type NpcTask } from './npc-task.ts';
import type { NpcTaskFeed } from './npc-task-feed.ts';
import { taskEvent } from './task-view.ts';

/** A reader that takes nothing for so many heartbeats is disconnected. */
const MAX_MISSED = 2;
/** After this, a client connects again. */
const RETRY_MS = 2_000;

/** What a stream needs of a response of HTTP. */
export type StreamResponse = Pick<
  ServerResponse,
  'writeHead' | 'write' | 'end' | 'destroy' | 'on' | 'writableNeedDrain'
>;

/**
 * Writes the states of a task as server-sent events until the task or the connection ends. A slow reader gets the newest
 * state only, so at most one event waits in memory beside those that are on the way.
 * @param lastVersion the `Last-Event-ID` of a reader that connects again: it has this version; 0: it has none
 * @returns ends the stream
 */
export function streamTask(
  response: StreamResponse,
  {
    task,
    lastVersion,
    feed,
  }: { task: NpcTask; lastVersion: number; feed: Pick<NpcTaskFeed, 'watch' | 'changed'> },
): () => void {
  let sent = lastVersion;
  let newest = task;
  let newestEvent = taskEvent(task);
  let missed = 0;
  let hasStopped = false;
  const end = (last = '') => {
    hasStopped = true;
    // in one write: many readers get the end at the same time
    if (last === '') response.end();
    else response.end(last);
  };
  const write = () => {
    if (hasStopped || response.writableNeedDrain) return;
    const text = newest.version > sent ? newestEvent : '';
    sent = Math.max(sent, newest.version);
    if (hasEnded(newest)) end(text);
    else if (text !== '') response.write(text);
  };
  const unwatch = feed.watch(task.taskId, {
    onTask: (state, event) => {
      if (state.version > newest.version) [newest, newestEvent] = [state, event];
      write();
    },
    onHeartbeat: () => {
      // A stream that has ended stays open until its reader has taken everything.
      missed = response.writableNeedDrain || hasStopped ? missed + 1 : 0;
      if (missed >= MAX_MISSED) response.destroy();
      else if (missed === 0) response.write(': heartbeat\n\n');
    },
    onStop: () => end(),
  });
  response.on('drain', write);
  response.on('close', () => {
    hasStopped = true;
    unwatch();
  });
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    // For proxies that collect responses.
    'x-accel-buffering': 'no',
  });
  response.write(`retry: ${RETRY_MS}\n\n`);
  write();
  // It may have changed since it was read.
  if (!hasStopped) feed.changed(task.taskId);
  return () => end();
}
