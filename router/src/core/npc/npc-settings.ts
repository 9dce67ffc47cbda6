import { z } from 'zod';

/** A capability that is not one of the specification. */
export const CUSTOM_CAPABILITY = /^custom:[A-Za-z][\w.-]{0,99}$/;

/** Settings of the NPC face, which an admin changes while wa2ai runs. */
export const npcFaceSettings = z.object({
  enabled: z.boolean(),
  name: z.string(),
  description: z.string().optional(),
  routeId: z.string().optional(),
  url: z.string().optional(),
  custom: z.array(z.string()).optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
});

export type NpcFaceSettings = z.output<typeof npcFaceSettings>;

/** Until an admin stores settings: on where only this machine can call. */
export function defaultNpcSettings(isLoopback: boolean): NpcFaceSettings {
  return { enabled: isLoopback, name: 'wa2ai' };
}

/** Capabilities of the card: those that are configured. */
export function capabilitiesOf({ routeId, custom = [] }: NpcFaceSettings): string[] {
  const own = ['trade', 'emotion', 'memory'];
  return routeId === undefined ? own : ['social', ...own, ...custom];
}
