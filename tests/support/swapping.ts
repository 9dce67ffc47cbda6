import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** Renames in a loop, until the flag is set, so that `name` is now the folder `own` and now the link `link`. */
const LOOP = `
  const { workerData, parentPort } = require('node:worker_threads');
  const { renameSync } = require('node:fs');
  const { name, link, flag } = workerData;
  const spare = name + '.spare';
  const ended = new Int32Array(flag);
  parentPort.postMessage('swapping');
  while (Atomics.load(ended, 0) === 0) {
    renameSync(name, spare);
    renameSync(link, name);
    renameSync(name, link);
    renameSync(spare, name);
  }
`;

/**
 * Replaces a folder by a link and back in a loop, as a hosted agent may do, while `work` runs.
 * @param name path of the folder
 * @param link path of the link that takes its place
 */
export async function whileSwapping(name: string, link: string, work: () => Promise<void>): Promise<void> {
  const flag = new SharedArrayBuffer(4);
  const worker = new Worker(LOOP, { eval: true, workerData: { name, link, flag } });
  await once(worker, 'message');
  try {
    await work();
  } finally {
    const exited = once(worker, 'exit');
    Atomics.store(new Int32Array(flag), 0, 1);
    await exited;
  }
}
