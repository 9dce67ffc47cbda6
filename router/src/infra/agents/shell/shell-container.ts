import { createHash } from 'node:crypto';
import { type HostedAgent, PROFILE_PORTS } from '../../../core/hosting/agent-spec.ts';
import type { IncomingMessage, Route } from '../../../core/models.ts';
import type { ShellSettings } from './shell-settings.ts';

const IDLE_MINUTES = 30;

/** Starts the runtime that the image has: that of wa2ai, or the Python original, which takes its token as an argument. */
const START = [
  'if [ -f /opt/wa2ai/shell-runtime.mjs ]; then exec node /opt/wa2ai/shell-runtime.mjs; fi',
  'exec swerex-remote --auth-token "$(cat "$AGENT_TOKEN_FILE")" --port "$PORT"',
].join('\n');

/** The container of one person in one chat. */
export function shellContainer(
  { id, accountId }: Pick<Route, 'id' | 'accountId'>,
  { env = {}, idleMinutes = IDLE_MINUTES }: ShellSettings,
  image: string,
  { from, channelId }: Pick<IncomingMessage, 'from' | 'channelId'>,
): HostedAgent {
  const key = JSON.stringify([id, from, channelId]);
  const hash = createHash('sha256').update(key).digest('hex').slice(0, 12);
  return {
    agentId: `shell-${id.slice(0, 8)}-${hash}`.toLowerCase(),
    accountId,
    routeId: id,
    idleMs: idleMinutes * 60_000,
    spec: {
      runtime: 'docker',
      image,
      command: ['sh', '-c', START],
      profile: 'swerex',
      port: PROFILE_PORTS.swerex,
      env,
      ...{ memoryMb: 1_024, cpus: 1, pids: 256, network: 'internet', pull: 'missing' },
    },
  };
}
