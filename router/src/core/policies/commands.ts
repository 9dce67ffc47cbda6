import type { Conversation } from './settings.ts';
import { type Language, textOf } from './texts.ts';

export type CommandName = 'new' | 'help' | 'stop' | 'status';

const NAMES: Record<string, CommandName> = {
  new: 'new',
  reset: 'new',
  help: 'help',
  stop: 'stop',
  status: 'status',
};

/** The command that a text is, with or without a mention before it; undefined when it is none. */
export function commandIn(text: string): CommandName | undefined {
  const name = /^\s*(?:@\d{5,20}\s+)?\/([a-z]{3,6})\s*$/i.exec(text)?.[1]?.toLowerCase();
  return name !== undefined && Object.hasOwn(NAMES, name) ? NAMES[name] : undefined;
}

/**
 * The lines of `/help` about the commands that are on.
 * @param title `helpAlso` where they follow the help of the agent
 */
export function commandHelp(
  { commands }: Pick<Conversation, 'commands'>,
  language: Language,
  title: 'help' | 'helpAlso' = 'help',
): string {
  const lines: Array<[boolean, string, Parameters<typeof textOf>[0]]> = [
    [commands.new, '/new', 'helpNew'],
    [commands.stop, '/stop', 'helpStop'],
    [commands.status, '/status', 'helpStatus'],
    [commands.help, '/help', 'helpHelp'],
  ];
  const shown = lines
    .filter(([isOn]) => isOn)
    .map(([, command, name]) => `- ${command}: ${textOf(name, language)}`);
  return [textOf(title, language), ...shown].join('\n');
}
