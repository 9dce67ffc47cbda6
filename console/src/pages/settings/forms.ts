/** The settings that the API can change, by the end of their path. */
export const FORMS = ['conversation', 'service', 'governor', 'npc', 'a2a', 'mcp'] as const;
export type FormName = (typeof FORMS)[number];
