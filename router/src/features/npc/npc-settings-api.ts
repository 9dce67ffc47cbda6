import { z } from 'zod';
import { PHRASES, type Said, say } from '../../core/phrases.ts';
import { withoutTrailing } from '../../core/without-trailing.ts';
import type { App } from '../../feature.ts';
import { MASK } from '../../infra/agents/secrets.ts';
import type { Endpoint } from '../../infra/operations/endpoint.ts';
import { mistakeAt } from '../../infra/operations/problem.ts';
import { settingsOperations } from '../../infra/operations/settings.ts';
import { invalid } from '../../infra/operations/validate.ts';
import { chainSettingsBody, chainSettingsView, maskedRpcUrl } from './npc-chain-api.ts';
import {
  CUSTOM_CAPABILITY,
  capabilitiesOf,
  type NpcChainSettings,
  type NpcFaceSettings,
} from './npc-settings.ts';

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

/** Settings of the NPC face: `/api/settings/npc`. */
export function npcSettingsApi(app: App): Endpoint[] {
  const { npcSettings, putNpcSettings, routes, log } = app;
  return settingsOperations({
    name: 'npc',
    id: 'Npc',
    tag: 'Agents',
    scopes: ['admin'],
    shows: 'Show the settings of the NPC face',
    replaces: 'Replace the settings of the NPC face on all nodes',
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
        'settings of a face changed',
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

function viewOf(settings: NpcFaceSettings): z.input<typeof settingsView> {
  const { chain, ...others } = settings;
  const shown = chain && { ...chain, rpcUrl: maskedRpcUrl(chain.rpcUrl) };
  return {
    ...others,
    ...(shown && { chain: shown }),
    capabilities: settings.enabled ? capabilitiesOf(settings) : [],
  };
}
