import { describe, expect, it } from 'vitest';
import { interpretNpc } from '../../../../../../router/src/infra/agents/npc/input/npc-command.ts';
import { npcMessage } from '../../../../../support/npc.ts';

type NpcRules = Parameters<typeof interpretNpc>[0];

const opponent = '0x742d35Cc6634C0532925a3b8D4B9C05e5b8E4C7d';
const token = '0x6F30b8B34D042eF9f9bcFE0716CD44B607EA7845';
const capabilities = [
  'duel',
  'quest',
  'trade',
  'social',
  'emotion',
  'memory',
  'custom:crafting',
  'custom:guild-management',
];

function meant(text: string, rules: Partial<NpcRules> = {}) {
  return interpretNpc({ capabilities, settings: {}, ...rules }, npcMessage(text));
}

describe('interpretNpc', () => {
  it.each([
    [`/duel ${opponent} 1`, 'duel', { opponent, wager: '1' }],
    [`/Duel ${opponent} 1 ${token}`, 'duel', { opponent, wager: '1', tokenAddress: token }],
    [`/duel opponent=${opponent} wager=1`, 'duel', { opponent, wager: '1' }],
    [
      `/duel wager=1000000000000000000 Opponent=${opponent} token=${token}`,
      'duel',
      { opponent, wager: '1000000000000000000', tokenAddress: token },
    ],
    [
      `/duel {"opponent":"${opponent}","wager":1000000000000000000}`,
      'duel',
      { opponent, wager: '1000000000000000000' },
    ],
    [
      '/quest dragon_slayer_001 hard 5000 3600',
      'quest',
      { questId: 'dragon_slayer_001', difficulty: 'hard', reward: '5000', timeLimit: 3_600 },
    ],
    [
      '/quest id=q difficulty=easy reward=1 seconds=60',
      'quest',
      { questId: 'q', difficulty: 'easy', reward: '1', timeLimit: 60 },
    ],
    [
      '/quest {"questId":7,"difficulty":"Hard","reward":5,"timeLimit":"60"}',
      'quest',
      { questId: '7', difficulty: 'hard', reward: '5', timeLimit: 60 },
    ],
    [`/duel ${opponent} 0010`, 'duel', { opponent, wager: '10' }],
    ['/emotion gift 80.5', 'emotion', { trigger: 'gift', intensity: 80.5 }],
    ['/trade sword 2 1000', 'trade', { item: 'sword', quantity: 2, price: '1000' }],
    ['/trade “magic sword” 2 1000', 'trade', { item: 'magic sword', quantity: 2, price: '1000' }],
    ['/social greet Hello there, friend', 'social', { action: 'greet', message: 'Hello there, friend' }],
    [
      '/social greet "Hello there" happy',
      'social',
      { action: 'greet', message: 'Hello there', emotion: 'happy' },
    ],
    ['/social action=gift message="a red rose"', 'social', { action: 'gift', message: 'a red rose' }],
    ['/emotion gift 80', 'emotion', { trigger: 'gift', intensity: 80 }],
    [
      '/emotion gift 80 {"item":"ring"}',
      'emotion',
      { trigger: 'gift', intensity: 80, context: { item: 'ring' } },
    ],
    [
      '/memory event we met at the gate',
      'memory',
      { memoryType: 'event', content: { text: 'we met at the gate' } },
    ],
    [
      '/memory event {"place":"gate"} 50',
      'memory',
      { memoryType: 'event', content: { place: 'gate' }, importance: 50 },
    ],
    ['/crafting a sharp sword', 'custom:crafting', { message: 'a sharp sword' }],
    [
      '/crafting item=sword count=2 isSharp=true id=007',
      'custom:crafting',
      { item: 'sword', count: 2, isSharp: true, id: '007' },
    ],
    ['/custom:guild-management {"kick":["a"]}', 'custom:guild-management', { kick: ['a'] }],
    ['/guild-management', 'custom:guild-management', {}],
  ])('opens a task for %s', (text, type, params) => {
    expect(meant(text)).toEqual({ kind: 'open', type, params });
  });

  it.each([
    ['/tasks', { kind: 'list' }],
    ['/task task_1', { kind: 'status', id: 'task_1' }],
    ['/task task_1 cancel', { kind: 'cancel', id: 'task_1' }],
    ['/Task task_1 Cancel', { kind: 'cancel', id: 'task_1' }],
  ])('understands %s', (text, meaning) => {
    expect(meant(text)).toEqual(meaning);
  });

  it.each([
    ['/duel', /^opponent is missing: .* Write \/duel 0x/],
    ['/duel bob 1', /^opponent must be an Ethereum address/],
    [`/duel opponent=${opponent} wagr=1`, /^\/duel has no wagr; it takes opponent, wager, tokenAddress\.$/],
    [`/duel ${opponent} 1 ${token} more`, /^That has more words than it needs/],
    [`/duel opponent=${opponent} 5`, /^Write every argument as name=value/],
    ['/crafting {"a":', /^That /],
    ['/task', /^Write \/task and the id/],
    ['/dance', /^There is no command \/dance\.\n\nYou can write:/],
    ['/help dance', /^There is no command \/dance/],
  ])('answers the mistake %s with one sentence', (text, sentence) => {
    expect(meant(text)).toMatchObject({ kind: 'say', why: 'mistake', text: expect.stringMatching(sentence) });
  });

  it('answers /help with the commands of the card', () => {
    const help = meant('/help', { capabilities: ['social', 'custom:crafting'] });
    expect(help).toMatchObject({ kind: 'say', why: 'help' });
    const text = help.kind === 'say' ? help.text : '';
    expect(text).toContain('/social ACTION [MESSAGE] [EMOTION]');
    expect(text).toContain('/crafting');
    expect(text).toContain('/tasks');
    expect(text).not.toContain('/duel');
    expect(meant('/help duel')).toMatchObject({ text: expect.stringContaining('• wager: an amount in wei') });
    expect(meant('/help crafting')).toMatchObject({ text: expect.stringContaining('/crafting item=sword') });
  });

  it('has the commands of the specification when the agent sends no card', () => {
    const rules = { capabilities: undefined };
    expect(meant(`/duel ${opponent} 1`, rules)).toMatchObject({ kind: 'open', type: 'duel' });
    expect(meant('/crafting x', rules)).toMatchObject({ kind: 'say', why: 'mistake' });
  });

  it('opens a social task for text', () => {
    expect(meant('Hi!')).toEqual({
      kind: 'open',
      type: 'social',
      params: { action: 'message', message: 'Hi!' },
    });
  });

  it('shows the commands for text when the card has no social capability', () => {
    expect(meant('Hi!', { capabilities: ['duel'] })).toMatchObject({ kind: 'say', why: 'help' });
  });

  it.each([
    ['emotion', 'a gift', { trigger: 'a gift', intensity: 50 }],
    ['memory', 'we met', { memoryType: 'interaction', content: { text: 'we met' } }],
    ['custom:crafting', 'a sword', { message: 'a sword' }],
    ['duel', `${opponent} 5`, { opponent, wager: '5' }],
  ])('opens the capability %s for text when the route says so', (capability, text, params) => {
    expect(meant(text, { settings: { capability } })).toEqual({ kind: 'open', type: capability, params });
  });

  it('adds the parameters of the route, and prefers those of a command', () => {
    const settings = { params: { tokenAddress: token, wager: '7' } };
    expect(meant(`/duel opponent=${opponent}`, { settings })).toMatchObject({
      params: { wager: '7', tokenAddress: token },
    });
    expect(meant(`/duel opponent=${opponent} wager=9`, { settings })).toMatchObject({
      params: { wager: '9' },
    });
  });

  it('fills the placeholders of the parameters of the route', () => {
    const settings = {
      capability: 'custom:crafting',
      params: { order: 'make {{text}}', who: '{{phone}}', at: '{{timestamp}}' },
    };
    const rules = { capabilities, settings };
    const message = npcMessage('a sword', { timestamp: new Date(1_700_000_000_000) });
    expect(interpretNpc(rules, message)).toEqual({
      kind: 'open',
      type: 'custom:crafting',
      params: { order: 'make a sword', who: '5493777239922', at: 1_700_000_000 },
    });
  });
});
