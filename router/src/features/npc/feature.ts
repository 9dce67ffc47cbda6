import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import { z } from 'zod';
import { isLoopbackHost } from '../../config/config-fields.ts';
import { PHRASES, type Said, say } from '../../core/phrases.ts';
import { withoutTrailing } from '../../core/text.ts';
import type { App, Feature, Kernel, Service } from '../../feature.ts';
import { MASK } from '../../infra/agents/secrets.ts';
import type { AgentTransport } from '../../infra/agents/transport/agent-transport.ts';
import { secretText } from '../../infra/db/encryption/secret-columns.ts';
import type { Endpoint } from '../../infra/operations/endpoint.ts';
import { invalid } from '../../infra/operations/form.ts';
import { mistakeAt } from '../../infra/operations/problem.ts';
import { settingsOperations } from '../../infra/operations/settings.ts';
import {
  CUSTOM_CAPABILITY,
  capabilitiesOf,
  defaultNpcSettings,
  type NpcChain,
  type NpcChainSettings,
  type NpcServerSettings,
  NpcSettingsStore,
  RPC_URL_CONTEXT,
} from './npc-chain.ts';
import { chainSettingsBody, chainSettingsView, maskedRpcUrl, npcChainApi } from './npc-chain-api.ts';
import { npcServer } from './npc-server.ts';
import { NpcTaskFeed, npcTaskChanged } from './npc-task-feed.ts';
import { npcTradesApi } from './npc-trades-api.ts';
import { openNpcTasks } from './open-npc-task.ts';
import { PostgresNpcChainEvents, PostgresNpcTransactions } from './postgres-npc-chain.ts';
import { PostgresNpcEmotions, PostgresNpcMemories, PostgresNpcTrades } from './postgres-npc-memories.ts';
import { PostgresNpcTasks } from './postgres-npc-tasks.ts';
import { runNpcTask } from './run-npc-task.ts';
import { ChainFollower, ShortTasks } from './short-tasks.ts';

/** How often one node reads new blocks. */
const FOLLOW_EVERY_MS = 5_000;

/** wa2ai as an agent of the NPC Engine. */
export const npc: Feature = {
  name: 'npc',
  tags: { Agents: 'wa2ai as an agent of other agents: the NPC server.' },
  secrets: [
    secretText({
      table: 'face_setting',
      column: 'settings',
      text: `(settings #>> '{chain,rpcUrl}')`,
      typed: (text) => `jsonb_set(settings, '{chain,rpcUrl}', to_jsonb(${text}))`,
      context: RPC_URL_CONTEXT,
    }),
  ],
  noteChanges: (bus, note) => {
    bus.on(npcTaskChanged, ({ taskId }) => note({ type: 'task', id: taskId, face: 'npc' }));
  },
  operations: (app) => [...npcSettingsApi(app), ...npcTradesApi(app), ...npcChainApi(app)],
  pages: (app) => npcServer({ ...app, log: app.logOf('npc') }),
  durable: {
    'npc-task': (service, steps, input) =>
      runNpcTask({ ...service, settings: service.npcSettings, log: service.logOf('npc') }, steps, input),
  },
  openTasks: openNpcTasks,
  // The cursor of chain events stays: it is one row for each source.
  retention: {
    with: {
      text: [
        (before, batch) => sql`
          DELETE FROM npc_task WHERE id IN (
            SELECT id FROM npc_task WHERE status IN ('completed', 'failed') AND updated_at < ${before}::timestamptz
            ORDER BY id LIMIT ${batch})`,
        (before, batch) => sql`
          DELETE FROM npc_emotion WHERE task_id IN (
            SELECT task_id FROM npc_emotion WHERE at < ${before}::timestamptz LIMIT ${batch})`,
        (before, batch) => sql`
          DELETE FROM npc_transaction WHERE task_id IN (
            SELECT task_id FROM npc_transaction WHERE settled_at < ${before}::timestamptz LIMIT ${batch})`,
        (before, batch) => sql`
          DELETE FROM npc_chain_event WHERE id IN (
            SELECT id FROM npc_chain_event WHERE stored_at < ${before}::timestamptz ORDER BY id LIMIT ${batch})`,
      ],
    },
  },
  start: (service) => {
    const stopFollowing = followChain(service);
    return async () => {
      await stopFollowing();
      await service.shortTasks.stop();
    };
  },
};

/** What the NPC server stores, and the streams of its tasks on this node. */
export function npcServices(
  kernel: Kernel,
): Pick<
  Service,
  | 'npcTasks'
  | 'npcFeed'
  | 'emotions'
  | 'memories'
  | 'trades'
  | 'npcSettings'
  | 'putNpcSettings'
  | 'hasWalletKey'
  | 'chain'
  | 'chainEvents'
  | 'transactions'
  | 'mintTaskId'
  | 'shortTasks'
> {
  const { config, postgres, bus, settingsStore, transport, clock } = kernel;
  const log = kernel.logOf('npc');
  const npcTasks = new PostgresNpcTasks(postgres);
  const npcFeed = new NpcTaskFeed({ npcTasks, clock, log });
  npcTasks.onEnd((task) => npcFeed.show(task));
  bus.on(npcTaskChanged, ({ taskId }) => npcFeed.changed(taskId));
  const settings = new NpcSettingsStore(settingsStore, postgres.secrets);
  const key = config.npcWalletKey;
  const inUse = (stored: NpcServerSettings | undefined): NpcServerSettings => {
    const { chain, ...others } = stored ?? defaultNpcSettings(isLoopbackHost(config.host));
    return { ...others, ...(chain && key !== undefined && { chain }) };
  };
  const npcSettings = async () => inUse(await settings.get());
  const stored = {
    npcTasks,
    emotions: new PostgresNpcEmotions(postgres),
    memories: new PostgresNpcMemories(postgres),
    trades: new PostgresNpcTrades(postgres),
    transactions: new PostgresNpcTransactions(postgres),
    chainEvents: new PostgresNpcChainEvents(postgres),
    chain: chainAccess({ key, settings: npcSettings, transport }),
  };
  return {
    ...stored,
    npcFeed,
    npcSettings,
    putNpcSettings: (changed, check) => settings.put(changed, check && ((before) => check(inUse(before)))),
    hasWalletKey: key !== undefined,
    mintTaskId: () => `task_${randomUUID().replaceAll('-', '')}`,
    shortTasks: new ShortTasks({ ...stored, settings: npcSettings, clock, log }),
  };
}

/** Follows events of the contracts, and transactions that no task follows, on the coordinator. */
function followChain(service: Service): () => Promise<void> {
  const { clock, placement } = service;
  const follower = new ChainFollower({ ...service, log: service.logOf('npc') });
  const stopping = new AbortController();
  const keepFollowing = async () => {
    while (!stopping.signal.aborted) {
      if (placement.isCoordinator) await follower.sweep();
      await clock.sleep(FOLLOW_EVERY_MS, stopping.signal).catch(() => undefined);
    }
  };
  const following = keepFollowing();
  return async () => {
    stopping.abort();
    await following;
  };
}

const MAX_METADATA_CHARS = 10_000;

const settingsBody = z
  .strictObject({
    enabled: z
      .boolean()
      .describe('Whether callers reach the card, `/rpc` and `/stream`. Default: only on loopback.'),
    name: z
      .string()
      .trim()
      .min(1)
      .max(100)
      .describe(
        'Name of the NPC. Emotions, memories and trades belong to it: another name begins without any.',
      ),
    description: z.string().trim().min(1).max(500).optional(),
    routeId: z
      .uuid(PHRASES['field.route-id'])
      .optional()
      .describe(
        'Route whose agent answers `social` and custom tasks. Absent: the card offers neither. Its account sends what `to` asks for.',
      ),
    url: z
      .string()
      .regex(/^https?:\/\/[^\s/?#]+(?:\/[^\s?#]*)?$/, PHRASES['field.url-example'])
      .transform((url) => withoutTrailing(url, '/'))
      .optional()
      .describe(
        'Where callers reach wa2ai, for the card behind a proxy. Default: the `Host` of each request.',
      ),
    custom: z
      .array(z.string().regex(CUSTOM_CAPABILITY, PHRASES['field.custom-name']))
      .max(50)
      .optional()
      .describe('Further capabilities of the card. Their tasks go to the agent of the route.'),
    metadata: z
      .record(z.string().min(1).max(100), z.unknown())
      .refine(
        (metadata) => JSON.stringify(metadata).length <= MAX_METADATA_CHARS,
        `must have at most ${MAX_METADATA_CHARS} characters`,
      )
      .optional()
      .describe('Further fields of `metadata` on the card.'),
    chain: chainSettingsBody.optional(),
  })
  .superRefine(({ custom, routeId }, context) => {
    if (custom?.length && routeId === undefined) {
      context.addIssue({ code: 'custom', path: ['custom'], message: PHRASES['field.needs-route-id'] });
    }
  })
  .meta({ id: 'NpcSettings', examples: [{ enabled: true, name: 'Old Guard' }] });

const settingsView = z
  .object({
    ...settingsBody.shape,
    url: z.string().optional(),
    chain: chainSettingsView.optional(),
    capabilities: z.array(z.string()).describe('What the card offers with these settings.'),
  })
  .meta({ id: 'NpcSettingsInUse' });

/** Settings of the NPC server: `/api/settings/npc`. */
function npcSettingsApi(app: App): Endpoint[] {
  const { npcSettings, putNpcSettings, routes, log } = app;
  return settingsOperations({
    name: 'npc',
    id: 'Npc',
    tag: 'Agents',
    scopes: ['admin'],
    shows: 'Show the settings of the NPC server',
    replaces: 'Replace the settings of the NPC server on all nodes',
    body: settingsBody,
    view: settingsView,
    show: async () => viewOf(await npcSettings()),
    replace: async (body, ifMatch) => {
      const { routeId, chain: given, ...others } = body;
      if (routeId !== undefined && !(await routes.get(routeId))) {
        throw invalid('body', [{ field: 'routeId', message: PHRASES['field.route-id'] }]);
      }
      const chain = given && (await checkedChain(app, given));
      const changed = { ...others, ...(routeId !== undefined && { routeId }), ...(chain && { chain }) };
      await putNpcSettings(changed, ifMatch && ((inUse) => ifMatch(viewOf(inUse))));
      log.info(
        { face: 'npc', enabled: body.enabled, hasChain: chain !== undefined },
        'settings of a server changed',
      );
      return { data: viewOf(changed) };
    },
  });
}

/** With the stored RPC URL in place of its masked form. @throws {HttpProblem} 400 */
async function checkedChain(
  { npcSettings, hasWalletKey, egressRefusalOf }: App,
  chain: NpcChainSettings,
): Promise<NpcChainSettings> {
  const wrong = (field: string, mistake: Said) => invalid('body', [mistakeAt(`chain${field}`, mistake)]);
  if (!hasWalletKey) throw wrong('', say('field.needs-wallet'));
  const before = (await npcSettings()).chain?.rpcUrl;
  const isMasked = before !== undefined && chain.rpcUrl === maskedRpcUrl(before);
  const rpcUrl = isMasked ? before : chain.rpcUrl;
  if (rpcUrl.includes(MASK)) throw wrong('.rpcUrl', say('field.whole-url'));
  const refusal = egressRefusalOf(rpcUrl);
  if (refusal !== undefined) throw wrong('.rpcUrl', say('field.refused', { why: refusal }));
  return { ...chain, rpcUrl };
}

function viewOf(settings: NpcServerSettings): z.output<typeof settingsView> {
  const { chain, ...others } = settings;
  const shown = chain && { ...chain, rpcUrl: maskedRpcUrl(chain.rpcUrl) };
  return {
    ...others,
    ...(shown && { chain: shown }),
    capabilities: settings.enabled ? capabilitiesOf(settings) : [],
  };
}

/** The chain of the settings of the moment. viem is loaded when there are some. */
export function chainAccess({
  key,
  settings,
  transport,
}: {
  key: string | undefined;
  settings(): Promise<NpcServerSettings>;
  transport: Pick<AgentTransport, 'fetch'>;
}): () => Promise<NpcChain | undefined> {
  let current: { of: string; chain: NpcChain } | undefined;
  return async () => {
    // First: a node without the key reads no settings for it.
    if (key === undefined) return undefined;
    const { chain } = await settings();
    if (!chain) return undefined;
    const of = JSON.stringify(chain);
    if (current?.of !== of) {
      const { ViemNpcChain } = await import('./viem-npc-chain.ts');
      current = { of, chain: new ViemNpcChain({ settings: chain, key, transport }) };
    }
    return current.chain;
  };
}
