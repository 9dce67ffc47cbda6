// `npm run demo`: a conversation through the real service on an emulated WhatsApp. Options are read before anything is
// installed, built or started.
import { parseArgs } from 'node:util';
import { runProgram } from './run.mjs';
import { fail } from './steps.mjs';

const HELP = `usage: npm run demo [-- --keep]

Starts an emulated WhatsApp, a small agent and wa2ai with its own PostgreSQL. Pairs an emulated phone, creates a
route, and shows a conversation of two people and a group. Needs no phone, no model and no network.
Removes everything it started when it ends.

  --keep   keep running after the conversation, to type messages in this terminal
  --help   show this text`;

try {
  const { values } = parseArgs({ options: { keep: { type: 'boolean' }, help: { type: 'boolean' } } });
  if (values.help) console.log(HELP);
  else await runProgram('dist/tests/demo/demo.js', values.keep ? ['--keep'] : []);
} catch (error) {
  if (!String(error?.code).startsWith('ERR_PARSE_ARGS')) throw error;
  fail(`${error.message}\n\n${HELP}`, 2);
}
