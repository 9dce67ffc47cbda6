import { SCOPES, type Scope } from './scopes.ts';

/** What a user of the console may do, the strongest first. */
export const ROLES = ['owner', 'operator', 'viewer'] as const;

export type Role = (typeof ROLES)[number];

/** The only place that says which scopes a role has. An operator cannot change who may do what: keys, users, the audit log. */
const SCOPES_OF: Record<Role, readonly Scope[]> = {
  owner: SCOPES,
  operator: SCOPES.filter((scope) => scope !== 'admin'),
  viewer: ['routes:read', 'messages:read', 'accounts:read'],
};

/** The scopes of a user with this role. */
export function scopesOfRole(role: Role): readonly Scope[] {
  return SCOPES_OF[role];
}
