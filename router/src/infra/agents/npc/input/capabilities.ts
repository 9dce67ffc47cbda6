/** What a value of a parameter must be, as the specification of the NPC Engine says. */
export type ParamType =
  | 'address'
  | 'wei'
  | 'text'
  | 'object'
  | { oneOf: readonly string[] }
  | { integer: true; min: number; max?: number }
  | { number: true; min: number; max: number };

/** One parameter of a capability. */
export interface CapabilityParam {
  /** As the specification names it. */
  name: string;
  type: ParamType;
  isOptional?: true;
  /** Other names that people write. */
  aliases?: readonly string[];
  /** Placeholder in the help: `OPPONENT`. */
  shown: string;
  example: string;
}

/** A capability of the specification, with its parameters in the order of the command. */
export interface Capability {
  /** Name on the card and type of the task. */
  type: string;
  summary: string;
  params: readonly CapabilityParam[];
}

const address = '0x742d35Cc6634C0532925a3b8D4B9C05e5b8E4C7d';

/** The capabilities of the specification; every other one is custom. */
export const STANDARD_CAPABILITIES: readonly Capability[] = [
  {
    type: 'duel',
    summary: 'fights against an opponent for a wager',
    params: [
      { name: 'opponent', type: 'address', shown: 'OPPONENT', example: address },
      { name: 'wager', type: 'wei', shown: 'WAGER', example: '1000' },
      {
        name: 'tokenAddress',
        type: 'address',
        isOptional: true,
        aliases: ['token'],
        shown: 'TOKEN',
        example: address,
      },
    ],
  },
  {
    type: 'quest',
    summary: 'starts a quest',
    params: [
      { name: 'questId', type: 'text', aliases: ['id', 'quest'], shown: 'ID', example: 'dragon_slayer_001' },
      {
        name: 'difficulty',
        type: { oneOf: ['easy', 'medium', 'hard', 'legendary'] },
        shown: 'DIFFICULTY',
        example: 'hard',
      },
      { name: 'reward', type: 'wei', shown: 'REWARD', example: '5000' },
      {
        name: 'timeLimit',
        type: { integer: true, min: 1 },
        aliases: ['seconds', 'time'],
        shown: 'SECONDS',
        example: '3600',
      },
    ],
  },
  {
    type: 'trade',
    summary: 'offers an exchange of items',
    params: [
      { name: 'item', type: 'text', shown: 'ITEM', example: 'sword' },
      { name: 'quantity', type: { integer: true, min: 1 }, shown: 'QUANTITY', example: '2' },
      { name: 'price', type: 'wei', shown: 'PRICE', example: '1000' },
      {
        name: 'currency',
        type: 'address',
        isOptional: true,
        aliases: ['token'],
        shown: 'CURRENCY',
        example: address,
      },
    ],
  },
  {
    type: 'social',
    summary: 'greets, helps, gives or says something',
    params: [
      { name: 'action', type: 'text', shown: 'ACTION', example: 'greet' },
      { name: 'message', type: 'text', isOptional: true, shown: 'MESSAGE', example: 'Hello!' },
      { name: 'emotion', type: 'text', isOptional: true, shown: 'EMOTION', example: 'happy' },
    ],
  },
  {
    type: 'emotion',
    summary: 'triggers a feeling',
    params: [
      { name: 'trigger', type: 'text', shown: 'TRIGGER', example: 'gift' },
      { name: 'intensity', type: { number: true, min: 0, max: 100 }, shown: 'INTENSITY', example: '80' },
      { name: 'context', type: 'object', isOptional: true, shown: 'CONTEXT', example: '{"item":"ring"}' },
    ],
  },
  {
    type: 'memory',
    summary: 'remembers something',
    params: [
      {
        name: 'memoryType',
        type: { oneOf: ['interaction', 'relationship', 'event'] },
        aliases: ['type'],
        shown: 'TYPE',
        example: 'event',
      },
      { name: 'content', type: 'object', shown: 'CONTENT', example: '"we met at the gate"' },
      {
        name: 'importance',
        type: { number: true, min: 0, max: 100 },
        isOptional: true,
        shown: 'IMPORTANCE',
        example: '50',
      },
    ],
  },
];

/** The description of a capability of a card; a custom one has no known parameters. */
export function capabilityOf(type: string): Capability {
  return (
    STANDARD_CAPABILITIES.find((capability) => capability.type === type) ?? { type, summary: '', params: [] }
  );
}

/** The command of a capability: `custom:crafting` → `crafting`. */
export function commandOf(type: string): string {
  return type.replace(/^custom:/, '');
}
