import type { Command } from 'commander';
import type { Cli } from './cli.ts';
import { addAgent } from './commands/agent.ts';
import { addAudit } from './commands/audit.ts';
import { addBackup } from './commands/backup.ts';
import { addCompletion } from './commands/completion.ts';
import { addDoctor } from './commands/doctor.ts';
import { addMcp } from './commands/mcp.ts';
import { addRestore } from './commands/restore.ts';
import { addStart } from './commands/start.ts';
import { addStatus } from './commands/status.ts';

/** Adds a command to its parent. What it needs to run is loaded when it runs. */
type AddCommand = (parent: Command, cli: Cli) => void;

/** Every command, in the order of the help. A new command is one file of commands/ and one word here. */
export const commandGroups: ReadonlyArray<{ title: string; commands: readonly AddCommand[] }> = [
  { title: 'Service', commands: [addStart, addStatus, addDoctor] },
  { title: 'Backup', commands: [addBackup, addRestore] },
  { title: 'Agents', commands: [addAgent] },
  { title: 'Access', commands: [addAudit] },
  { title: 'Programs', commands: [addMcp, addCompletion] },
];
