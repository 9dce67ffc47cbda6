import { type StandInAnswer, StandInServer } from './stand-in-server.ts';

/** A shell runtime on loopback whose commands answer with `Echo: ` and the command. It runs nothing. */
export function startShellRuntime(token: string): Promise<StandInServer> {
  return StandInServer.start(({ path, headers, body }): StandInAnswer => {
    if (headers['x-api-key'] === undefined) return { status: 403, body: { detail: 'Not authenticated' } };
    if (headers['x-api-key'] !== token) return { status: 401, body: { detail: 'Invalid API Key' } };
    if (path === '/is_alive') return { body: { is_alive: true, message: '' } };
    if (path === '/create_session' || path === '/close_session') {
      return { body: { output: '', session_type: 'bash' } };
    }
    if (path !== '/run_in_session') return { status: 404, body: { detail: 'Not Found' } };
    const { command } = JSON.parse(body);
    const output = `Echo: ${command}`;
    const end = { failure_reason: '', expect_string: 'SHELLPS1PREFIX', session_type: 'bash' };
    return { body: { output, exit_code: 0, ...end } };
  });
}
