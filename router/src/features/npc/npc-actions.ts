import {
  type Capability,
  type CapabilityParam,
  STANDARD_CAPABILITIES,
} from '../../infra/agents/npc/input/capabilities.ts';

/** Who a task concerns, when the caller acts for several: a name of the caller's choice. */
const peer: CapabilityParam = { name: 'peer', type: 'text', isOptional: true, shown: 'PEER', example: 'ana' };
const offerId: CapabilityParam = { name: 'offerId', type: 'text', shown: 'OFFER', example: '12' };

/** What a task of a capability does: the one that the specification describes, or another one of wa2ai. */
interface Action {
  /** Value of the parameter `action`; absent: the one of the specification. */
  action?: string;
  params: readonly CapabilityParam[];
}

const standard = (type: string): readonly CapabilityParam[] =>
  STANDARD_CAPABILITIES.find((capability) => capability.type === type)?.params ?? [];

/**
 * The tasks of each standard capability. Beside the one of the specification there are tasks that read and end what it made;
 * the parameter `action` chooses them.
 */
const ACTIONS: Readonly<Record<string, readonly [Action, ...Action[]]>> = {
  duel: [{ params: standard('duel') }, { action: 'list', params: [] }],
  quest: [{ params: standard('quest') }, { action: 'list', params: [] }],
  social: [
    {
      params: [
        ...standard('social'),
        { name: 'to', type: 'text', isOptional: true, shown: 'TO', example: '5493777239922' },
        peer,
      ],
    },
  ],
  emotion: [{ params: [...standard('emotion'), peer] }, { action: 'show', params: [peer] }],
  memory: [
    { params: [...standard('memory'), peer] },
    {
      action: 'recall',
      params: [
        { name: 'query', type: 'text', isOptional: true, shown: 'QUERY', example: 'gate' },
        {
          name: 'limit',
          type: { integer: true, min: 1, max: 50 },
          isOptional: true,
          shown: 'LIMIT',
          example: '5',
        },
        peer,
      ],
    },
    { action: 'forget', params: [{ name: 'memoryId', type: 'text', shown: 'MEMORY', example: '7' }, peer] },
  ],
  trade: [
    {
      params: [
        ...standard('trade'),
        {
          name: 'direction',
          type: { oneOf: ['sell', 'buy'] },
          isOptional: true,
          shown: 'DIRECTION',
          example: 'sell',
        },
        {
          name: 'expiresIn',
          type: { integer: true, min: 1, max: 2_592_000 },
          isOptional: true,
          shown: 'SECONDS',
          example: '86400',
        },
        peer,
      ],
    },
    { action: 'accept', params: [offerId, peer] },
    { action: 'decline', params: [offerId, peer] },
    { action: 'list', params: [peer] },
  ],
};

/** The names that the parameter `action` may have, for an error. */
export function actionNames(type: string): string[] {
  return (ACTIONS[type] ?? []).flatMap(({ action }) => action ?? []);
}

/**
 * The parameters that a task with these parameters takes; undefined: there is no such action. `action` of `social` is free
 * text of the specification.
 */
export function actionOf(type: string, params: Readonly<Record<string, unknown>>): Capability | undefined {
  const actions = ACTIONS[type];
  if (!actions) return { type, summary: '', params: [peer] };
  const named = type === 'social' ? undefined : (params.action ?? undefined);
  const found = actions.find(({ action }) => action === named);
  return found && { type, summary: '', params: found.params };
}
