/** The settings that the API can change, by the end of their path. */
export const FORMS = ['conversation', 'governor', 'service', 'a2a', 'mcp', 'npc'] as const;
export type FormName = (typeof FORMS)[number];

/** Groups of settings that few people change, which are folded; `''` are the values without a group. */
export const RARE: Readonly<Partial<Record<FormName, readonly string[]>>> = {
  conversation: ['', 'session', 'presence', 'commands', 'texts', 'quota', 'when'],
};
