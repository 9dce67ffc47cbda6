import type { MessageKind } from '../models.ts';

/**
 * Why a message is stored and starts no turn, known when it is received. Of those that say where a message is from, the first that
 * applies is stored.
 */
const IGNORED_REASONS = [
  // Where it is from, in order of precedence
  'history',
  'own-message',
  'status-broadcast',
  'broadcast-list',
  'too-old',
  // What it is
  'reaction',
  'poll-vote',
  'deleted',
  'pin',
  'call',
  'album',
  'status-mention',
  'encrypted-edit',
  'event-response',
  'timer-changed',
  'group-event',
  'empty-text',
  'undecryptable',
  // What the account's settings say about it
  'owner-message',
  'edit-ignored',
] as const;

/** Why a turn ended without the answer of an agent; or, for `agent-later`, `task-started` and `draft`, without one yet. */
const TURN_REASONS = [
  // No route took the message (NoRouteReason)
  'no-route',
  'disabled',
  'when-not-met',
  'no-match',
  'regex-timeout',
  'regex-invalid',
  // A policy ended the turn
  'group-not-addressed',
  'group-never',
  'access-pending',
  'access-over-limit',
  'access-refused',
  'access-not-listed',
  'chat-paused',
  'stopped-by-person',
  'quota-exceeded',
  'auto-reply-loop',
  // wa2ai answered
  'command',
  'question-answered',
  'unsupported-kind',
  'fallback-text',
  'reply-withheld',
  // The agent answered without a text, or answers later
  'agent-empty',
  'agent-later',
  'task-started',
  'draft',
] as const;

/** What changes a stored message, in the functions of the database. */
const STORED_REASONS = ['edit-applied', 'deleted-by-author', 'merged', 'duplicate', 'draft-dropped'] as const;

/** Every reason of a message that is `ignored` or `answered`. That of a dead letter is the code of an error. */
export const MESSAGE_REASONS = [...IGNORED_REASONS, ...TURN_REASONS, ...STORED_REASONS] as const;

export type IgnoredReason = (typeof IGNORED_REASONS)[number];

/** `unsupported-kind` names the kind of the message. */
export type TurnReason =
  | Exclude<(typeof TURN_REASONS)[number], 'unsupported-kind'>
  | `unsupported-kind:${MessageKind}`;
