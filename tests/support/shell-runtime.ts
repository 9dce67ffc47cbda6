import type { AddressInfo } from 'node:net';
import { runtimeServer } from '../../runtime-server/http-server.ts';
import { Runtime } from '../../runtime-server/runtime.ts';

export interface RunningRuntime {
  url: string;
  token: string;
  /** One request with the token; the body is sent as JSON. */
  call(
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; text: string }>;
  /** Runs a command in the session `default`. */
  run(command: string, fields?: Record<string, unknown>): Promise<Record<string, unknown>>;
  stop(): Promise<void>;
}

/** The shell runtime in this process, on a free port. */
export async function startRuntime(hasTerminal: boolean): Promise<RunningRuntime> {
  const token = 'token-of-the-test';
  const env = { ...process.env, HOME: '/nonexistent', LANG: 'C.UTF-8' };
  const runtime = new Runtime({ hasTerminal, env });
  const server = runtimeServer(runtime, token);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const call: RunningRuntime['call'] = async (path, body, headers = {}) => {
    const response = await fetch(url + path, {
      headers: { 'x-api-key': token, 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  };
  return {
    url,
    token,
    call,
    run: async (command, fields = {}) =>
      JSON.parse((await call('/run_in_session', { command, check: 'silent', timeout: 60, ...fields })).text),
    stop: async () => {
      runtime.closeAll();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
