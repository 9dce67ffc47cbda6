/** What a key of the API may be allowed to do. */
export const SCOPES = [
  'routes:read',
  'routes:write',
  'messages:read',
  'messages:send',
  'accounts:read',
  'accounts:manage',
  'tasks',
  'a2a',
  'mcp',
  'agents:manage',
  'webhooks:manage',
  'playground',
  'admin',
] as const;

export type Scope = (typeof SCOPES)[number];

/** Scopes that another one contains: what a caller may change, the response to the change shows anyway. */
const CONTAINED: Partial<Record<Scope, readonly Scope[]>> = {
  'routes:write': ['routes:read'],
  'accounts:manage': ['accounts:read'],
  // What a webhook gets.
  'webhooks:manage': ['messages:read', 'accounts:read'],
  admin: SCOPES,
};

/** Whether the granted scopes contain this one. `messages:send` does not contain `messages:read`. */
export function contains(granted: readonly Scope[], needed: Scope): boolean {
  return granted.some((scope) => scope === needed || CONTAINED[scope]?.includes(needed));
}
