import type { AgentHost } from '../../../../core/hosting/agent-host.ts';
import { type HostedAgent, PROFILE_PORTS } from '../../../../core/hosting/agent-spec.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import type { AgentTransport } from '../../transport/agent-transport.ts';
import { RemoteRuntime } from './remote-runtime.ts';

/** Starts the runtime that the image has: that of wa2ai, or the Python original, which takes its token as an argument. */
const START = [
  'if [ -f /opt/wa2ai/shell-runtime.mjs ]; then exec node /opt/wa2ai/shell-runtime.mjs; fi',
  'exec swerex-remote --auth-token="$(cat "$AGENT_TOKEN_FILE")" --port="$PORT"',
].join('\n');

export interface DockerDeploymentOptions {
  /** Pulls the image, creates the container on a free port of 127.0.0.1 with its own name and token, and waits for it. */
  host: Pick<AgentHost, 'use' | 'stop'>;
  transport: AgentTransport;
  clock: Clock;
  image: string;
  /** Id, owner and idle time of the container: it stops after that time without a request. */
  container: Pick<HostedAgent, 'agentId' | 'idleMs' | 'accountId' | 'routeId'>;
  env?: Readonly<Record<string, string>>;
  /** Longest wait for a new session, in milliseconds. */
  startMs?: number;
}

/** What `start` and `use` may get. */
export interface DeploymentUse {
  signal?: AbortSignal;
  /** Called once when the image is pulled and that takes long. */
  onSlowStart?(): Promise<void>;
}

/** A container with a SWE-ReX runtime, which the agent host of this node runs. Its files in `/data` survive a stop. */
export class DockerDeployment {
  readonly #options: DockerDeploymentOptions;
  readonly #agent: HostedAgent;

  constructor(options: DockerDeploymentOptions) {
    const { image, env = {}, container } = options;
    this.#options = options;
    this.#agent = {
      ...container,
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

  /** Starts the container unless it runs; resolves when its runtime answers. @throws as `use` */
  async start(options: DeploymentUse = {}): Promise<void> {
    await this.use(async () => undefined, options);
  }

  /**
   * Starts the container unless it runs, and gives its runtime to `work`. It does not stop before `work` ends.
   * @throws what AgentHost.use throws
   */
  async use<T>(work: (runtime: RemoteRuntime) => Promise<T>, options: DeploymentUse = {}): Promise<T> {
    const { host, transport, clock, startMs } = this.#options;
    return await host.use(
      this.#agent,
      ({ url, token }) =>
        work(
          new RemoteRuntime({
            ...{ url, token, clock, transport: transport.alsoTo(url) },
            ...(startMs !== undefined && { startMs }),
          }),
        ),
      options,
    );
  }

  /** Stops the container with everything that runs in it; the next `use` starts it again. Idempotent. */
  async stop(): Promise<void> {
    await this.#options.host.stop(this.#agent.agentId);
  }
}
