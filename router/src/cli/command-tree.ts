import type { Command } from 'commander';

/** Every command below a command. */
export function descendantsOf(command: Command): Command[] {
  return command.commands.flatMap((child) => [child, ...descendantsOf(child)]);
}

/** `wa2ai accounts list` for the command `list`. */
export function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}
