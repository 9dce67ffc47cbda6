import type { Command } from 'commander';
import type { Cli } from './cli.ts';
import { addAccounts } from './commands/accounts.ts';
import { addAgent } from './commands/agent.ts';
import { addAgents } from './commands/agents.ts';
import { addAudit } from './commands/audit.ts';
import { addBackup } from './commands/backup.ts';
import { addChats } from './commands/chats.ts';
import { addCompletion } from './commands/completion.ts';
import { addDeadLetters } from './commands/dead-letters.ts';
import { addDoctor } from './commands/doctor.ts';
import { addExchanges } from './commands/exchanges.ts';
import { addKeys } from './commands/keys.ts';
import { addLogs } from './commands/logs.ts';
import { addMcp } from './commands/mcp.ts';
import { addMessages } from './commands/messages.ts';
import { addOpen } from './commands/open.ts';
import { addPair } from './commands/pair.ts';
import { addRestore } from './commands/restore.ts';
import { addRoutes } from './commands/routes.ts';
import { addSend } from './commands/send.ts';
import { addSimulate } from './commands/simulate.ts';
import { addStart } from './commands/start.ts';
import { addStatus } from './commands/status.ts';

/** Adds a command to its parent. What it needs to run is loaded when it runs. */
type AddCommand = (parent: Command, cli: Cli) => void;

/** Every command, in the order of the help. A new command is one file of commands/ and one word here. */
export const commandGroups: ReadonlyArray<{ title: string; commands: readonly AddCommand[] }> = [
  { title: 'Service', commands: [addStart, addStatus, addDoctor, addLogs, addOpen] },
  { title: 'Backup', commands: [addBackup, addRestore] },
  {
    title: 'WhatsApp',
    commands: [addPair, addAccounts, addChats, addMessages, addExchanges, addSend, addDeadLetters],
  },
  { title: 'Routes and agents', commands: [addRoutes, addAgents, addAgent, addSimulate] },
  { title: 'Access', commands: [addKeys, addAudit] },
  { title: 'Programs', commands: [addMcp, addCompletion] },
];
