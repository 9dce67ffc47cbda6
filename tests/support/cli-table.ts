/** A command in the table of tests/slow/cli-commands.test.ts. */
export interface TableEntry {
  /** Words after the command with which it is written correctly. */
  args?: readonly string[];
  /** Words that name something that does not exist: exit code 1. */
  notFound?: readonly string[];
  /** Words that are wrong usage: exit code 2, besides an unknown option. */
  wrong?: readonly string[];
  /** It does not call the service, or works without it. */
  isLocal?: true;
  /** It prints what it does before it calls the service. */
  hasProgress?: true;
}

/** Any change of a route: `{"enabled": false}`. */
const CHANGE = 'tests/fixtures/route-change.json';
/** A scenario of the examples. */
export const SCENARIO = 'examples/scenarios/echo.yaml';
const NO_CHAT = '+5493777000000';
const NO_ID = '9c8a9b1e-0000-4000-8000-000000000000';

/** Every command of `wa2ai` that is no group. */
export const CLI_TABLE: Readonly<Record<string, TableEntry>> = {
  'wa2ai start': { isLocal: true, wrong: ['now'] },
  'wa2ai status': { wrong: ['now'] },
  'wa2ai doctor': { isLocal: true, wrong: ['now'] },
  'wa2ai logs': { wrong: ['--level', 'loud'] },
  'wa2ai open': { wrong: ['now'] },
  'wa2ai backup': { isLocal: true, wrong: [] },
  'wa2ai restore': { isLocal: true, wrong: [] },
  'wa2ai pair': { args: ['nobody'], notFound: ['nobody'], wrong: ['a', 'b'] },
  'wa2ai accounts list': { wrong: ['all'] },
  'wa2ai accounts add': { args: ['second'], wrong: [] },
  'wa2ai accounts remove': { args: ['nobody', '--yes'], notFound: ['nobody', '--yes'], wrong: ['nobody'] },
  'wa2ai accounts proxy': {
    args: ['nobody', '--remove', '--yes'],
    notFound: ['nobody', '--remove', '--yes'],
    wrong: ['nobody'],
  },
  'wa2ai accounts restart': { args: ['nobody'], notFound: ['nobody'], wrong: [] },
  'wa2ai accounts logout': { args: ['nobody', '--yes'], notFound: ['nobody', '--yes'], wrong: ['nobody'] },
  'wa2ai chats list': { wrong: ['--access', 'maybe'] },
  'wa2ai chats show': { args: [NO_CHAT], notFound: [NO_CHAT], wrong: [] },
  'wa2ai chats pause': { args: [NO_CHAT], notFound: [NO_CHAT], wrong: ['7', '--mode', 'loud'] },
  'wa2ai chats resume': { args: [NO_CHAT], notFound: [NO_CHAT], wrong: [] },
  'wa2ai chats approve': { args: [NO_CHAT], notFound: [NO_CHAT], wrong: [] },
  'wa2ai chats refuse': { args: [NO_CHAT], notFound: [NO_CHAT], wrong: [] },
  'wa2ai chats tag': { args: [NO_CHAT, 'vip'], notFound: [NO_CHAT, 'vip'], wrong: [] },
  'wa2ai chats export': { args: [NO_CHAT], notFound: [NO_CHAT], wrong: [] },
  'wa2ai messages': { wrong: ['--follow', '--text', 'x'] },
  'wa2ai exchanges': { args: ['404'], notFound: ['404'], wrong: [] },
  'wa2ai send': {
    args: [NO_CHAT, 'hola'],
    notFound: [NO_CHAT, 'hola', '--quote', '999999'],
    wrong: [NO_CHAT],
  },
  'wa2ai dead-letters list': { wrong: ['all'] },
  'wa2ai dead-letters replay': { args: ['404'], notFound: ['404'], wrong: ['404', '--all'] },
  'wa2ai dead-letters close': { args: ['404'], notFound: ['404'], wrong: [] },
  'wa2ai routes list': { wrong: ['all'] },
  'wa2ai routes show': { args: [NO_ID], notFound: [NO_ID], wrong: [] },
  'wa2ai routes add': { args: [CHANGE], wrong: ['/nowhere/route.json'] },
  'wa2ai routes edit': {
    args: [NO_ID, CHANGE],
    notFound: [NO_ID, CHANGE],
    wrong: [NO_ID, '/nowhere/route.json'],
  },
  'wa2ai routes remove': { args: [NO_ID, '--yes'], notFound: [NO_ID, '--yes'], wrong: [NO_ID] },
  'wa2ai routes test': { args: [NO_ID], notFound: [NO_ID], wrong: [] },
  'wa2ai routes export': { wrong: ['a', 'b'] },
  'wa2ai routes apply': { args: [CHANGE], wrong: ['/nowhere/routes.yaml'] },
  'wa2ai routes history': { notFound: ['999999'], wrong: ['1', '2'] },
  'wa2ai routes rollback': { args: ['999999', '--yes'], notFound: ['999999', '--yes'], wrong: ['last'] },
  'wa2ai routes explain': { args: [NO_CHAT, 'hola'], wrong: [NO_CHAT] },
  'wa2ai agents list': { wrong: ['all'] },
  'wa2ai agents show': { args: ['nobody'], notFound: ['nobody'], wrong: [] },
  'wa2ai agents start': { args: ['nobody'], notFound: ['nobody'], wrong: [] },
  'wa2ai agents stop': { args: ['nobody'], notFound: ['nobody'], wrong: [] },
  'wa2ai agents logs': { args: ['nobody'], notFound: ['nobody'], wrong: [] },
  'wa2ai agent test': { isLocal: true, wrong: [] },
  'wa2ai agent inspect': { isLocal: true, wrong: [] },
  'wa2ai agent check': { isLocal: true, wrong: [] },
  'wa2ai simulate': { args: [SCENARIO], hasProgress: true, wrong: ['/nowhere/scenario.yaml'] },
  'wa2ai keys list': { wrong: ['all'] },
  'wa2ai keys add': { args: ['ci', 'routes:read'], wrong: ['ci'] },
  'wa2ai keys revoke': { args: ['nobody', '--yes'], notFound: ['nobody', '--yes'], wrong: ['nobody'] },
  'wa2ai audit list': { wrong: ['all'] },
  'wa2ai audit verify': { wrong: ['--earlier', 'x'] },
  'wa2ai mcp': { isLocal: true, wrong: ['localhost'] },
  'wa2ai completion': { isLocal: true, wrong: ['tcsh'] },
  'wa2ai names': { args: ['account'], wrong: ['country'] },
};
