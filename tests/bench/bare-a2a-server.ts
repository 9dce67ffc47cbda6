// The reference of the bench of faces: a server of Express and the official SDK with tasks in memory. Prints `url <text>`. A
// line on its input ends the tasks that run.
import { createInterface } from 'node:readline';
import { A2aDouble } from '../doubles/a2a-agent.ts';

const agent = await A2aDouble.start();
createInterface({ input: process.stdin }).on('line', () => {
  for (const taskId of agent.running) agent.end(taskId, 'done');
});
console.log(`url ${agent.url}`);
