// Runs shell commands for programs that have the token: the API of SWE-ReX, in any container that has Node and bash.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { runtimeServer } from './http-server.ts';
import { Runtime } from './runtime.ts';

/** What this program must not pass on to the commands that it runs. */
const OWN_VARIABLES = ['AUTH_TOKEN_FILE', 'AGENT_TOKEN_FILE', 'AUTH_TOKEN', 'PORT', 'HOST'];
/** How long answers may take that are sent when the program ends. */
const STOP_LIMIT_MS = 2_000;

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

function readToken(): string {
  // wa2ai gives the containers that it starts the second one
  const { AUTH_TOKEN: token, AGENT_TOKEN_FILE, AUTH_TOKEN_FILE: file = AGENT_TOKEN_FILE } = process.env;
  if (file === undefined) {
    return token || fail('Set AUTH_TOKEN_FILE to the path of a file with the token that clients send.');
  }
  try {
    return readFileSync(file, 'utf8').trim() || fail(`The token file ${file} is empty.`);
  } catch (error) {
    return fail(`Cannot read the token file ${file}: ${error instanceof Error ? error.message : error}`);
  }
}

/** `script` of util-linux gives a command a terminal. */
function hasScript(): boolean {
  try {
    return execFileSync('script', ['--version'], { encoding: 'utf8' }).includes('util-linux');
  } catch {
    return false;
  }
}

const port = Number(process.env.PORT ?? 8000);
if (!Number.isInteger(port) || port < 0 || port > 65_535) fail('PORT must be a number from 0 to 65535.');
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !OWN_VARIABLES.includes(name)));
const runtime = new Runtime({ hasTerminal: hasScript(), env });
const server = runtimeServer(runtime, readToken());
server.on('error', (error) => fail(`Cannot listen on port ${port}: ${error.message}`));
server.listen(port, process.env.HOST ?? '0.0.0.0', () => {
  const address = server.address();
  process.stdout.write(
    `shell runtime listening on port ${typeof address === 'object' ? address?.port : port}\n`,
  );
});

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    // who waits for a command learns that its shell has ended
    server.close(() => process.exit(0));
    runtime.closeAll();
    setTimeout(() => process.exit(0), STOP_LIMIT_MS);
  });
}
