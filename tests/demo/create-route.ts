import { spawn } from 'node:child_process';
import { say } from './output.ts';

/** Creates a route for every chat with the call that a user would type, and prints the call. Uses fetch without curl. */
export async function createRoute(
  serviceUrl: string,
  agent: { url: string; appName: string },
): Promise<void> {
  const json = JSON.stringify(
    {
      channelId: '*',
      agentEndpoint: agent.url,
      environment: 'lab',
      config: { adk: { appName: agent.appName, baseUrl: agent.url }, group: { answer: 'always' } },
    },
    null,
    2,
  );
  const url = `${serviceUrl}/api/routes`;
  const shown = json.replaceAll('\n', '\n    ');
  console.log(`\n  curl -X POST ${url} \\\n    -H "Content-Type: application/json" \\\n    -d '${shown}'\n`);
  const header = 'Content-Type: application/json';
  const outcome = await run('curl', ['-sS', '--fail-with-body', '-X', 'POST', url, '-H', header, '-d', json]);
  if (outcome === 'missing') {
    say('demo', 'curl is not installed; sending the same request with fetch');
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(url, { method: 'POST', headers, body: json });
    if (response.status !== 201) throw new Error(`the route was not created: ${await response.text()}`);
    return;
  }
  if (outcome.code !== 0) throw new Error(`the route was not created: ${outcome.output}`);
}

async function run(
  command: string,
  args: string[],
): Promise<'missing' | { code: number | null; output: string }> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  return new Promise((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') resolve('missing');
      else reject(error);
    });
    child.once('close', (code) => resolve({ code, output }));
  });
}
