declare const kind: unique symbol;

/**
 * A string that names one kind of thing: a literal can be used as any kind, but an id of one kind cannot be used as
 * another, so that the compiler finds a LID that is passed as a phone number.
 */
type Id<Kind extends string> = string & { readonly [kind]?: Kind };

/** Digits of an E.164 number, without `+`: `5493777239922`. */
export type PhoneNumber = Id<'phone'>;
/** Digits of a LID, WhatsApp's identifier that hides the number. */
export type Lid = Id<'lid'>;
/** Id of a group, without `@g.us`; ids of old groups contain a dash. */
export type GroupId = Id<'group'>;
/** Id of a stored chat. */
export type ChatId = Id<'chat'>;
/** Name of a node, stable over its restarts. */
export type NodeId = Id<'node'>;
