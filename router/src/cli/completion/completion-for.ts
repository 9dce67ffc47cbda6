import type { Command } from 'commander';
import { isAddress } from '../commands/lists.ts';
import type { Api } from '../service/api.ts';

/** A word that may follow a command. */
interface Word {
  text: string;
  help: string;
}

/** A command, or one of its options that needs one of some values, with the words that may follow it. */
interface Place {
  /** `wa2ai accounts`, `wa2ai logs --level` */
  path: string;
  words: readonly Word[];
  /** What its first argument names, of which the service has a list. */
  names?: string;
}

/** The lists of the API whose names complete an argument, by the name of the argument. */
const NAMED_LISTS: Readonly<Record<string, string>> = {
  account: '/api/accounts',
  agent: '/api/agents',
  chat: '/api/chats',
  key: '/api/keys',
  route: '/api/routes',
};

/**
 * The words by which a command may name the things of a list: a name without spaces that only one has, else an id; of a chat its
 * address, which also commands accept that take no id, and of an account always its id.
 * @throws {CliError} the list cannot be read
 */
export async function namesOf(api: Pick<Api, 'call'>, argument: string): Promise<string[]> {
  const path = NAMED_LISTS[argument];
  if (path === undefined) return [];
  const { data } = await api.call<{ data: ReadonlyArray<Record<string, unknown>> }>('GET', path);
  const names = data.map(({ name }) => String(name).toLowerCase());
  return data.flatMap(({ name, id, channelId }) => {
    const other = channelId === undefined || argument !== 'chat' ? id : addressOf(String(channelId));
    const isOnly = names.filter((each) => each === String(name).toLowerCase()).length === 1;
    const isName = argument !== 'account' && isOnly && isWord(name) && !isAddress(name);
    const word = isName ? name : other;
    return isWord(word) ? [word] : [];
  });
}

/** A number with its `+`, without which it would be an id. */
function addressOf(channelId: string): string {
  return /^\d+$/.test(channelId) ? `+${channelId}` : channelId;
}

function isWord(value: unknown): value is string {
  return typeof value === 'string' && /^[\p{L}\p{N}._@+-]+$/u.test(value);
}

/** The script by which a shell completes the commands and options of the program. */
export function completionFor(shell: 'bash' | 'zsh' | 'fish', program: Command): string {
  const places = [program, ...descendantsOf(program)].flatMap((command): Place[] => {
    const path = pathOf(command);
    const [argument] = command.registeredArguments;
    const options = command.options.map(
      ({ long, flags, argChoices = [] }): Place => ({
        path: `${path} ${long}`,
        words: argChoices.map((text) => ({ text, help: '' })),
        ...namesIn(/<([a-z]+)/.exec(flags)?.[1]),
      }),
    );
    return [
      { path, words: wordsOf(command), ...namesIn(argument?.name()) },
      ...options.filter(({ words, names }) => words.length > 0 || names !== undefined),
    ];
  });
  if (shell === 'bash') return bash(places);
  if (shell === 'zsh') return zsh(places);
  return fish(places);
}

/** The list whose names an argument takes, if there is one. */
function namesIn(argument = ''): { names?: string } {
  return Object.hasOwn(NAMED_LISTS, argument) ? { names: argument } : {};
}

function wordsOf(command: Command): Word[] {
  const commands = command.createHelp().visibleCommands(command);
  const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
  const help = command.createHelp();
  const options = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)];
  const words = [
    ...commands.map((child) => ({ text: child.name(), help: child.description() })),
    ...choices.map((text) => ({ text, help: '' })),
    ...options.flatMap(({ long, description }) => (long ? [{ text: long, help: description }] : [])),
  ];
  return [...new Map(words.map((word) => [word.text, word])).values()];
}

/** The loop by which bash and zsh find the command before the cursor: `$place` becomes `wa2ai accounts list`. A value ends an option. */
function walk(places: readonly Place[], words: string): string {
  const known = places.map(({ path }) => `"${path}"`).filter((path) => path !== '"wa2ai"');
  return `  for word in ${words}; do
    place="\${place%% --*}"
    case "$place $word" in
      ${known.join('|')}) place="$place $word" ;;
    esac
  done`;
}

function bash(places: readonly Place[]): string {
  const cases = places.map(({ path, words, names }) => {
    const list = words.map(({ text }) => text);
    if (names !== undefined) list.push(`$(wa2ai names ${names} 2>/dev/null)`);
    return `    "${path}") words="${list.join(' ')}" ;;`;
  });
  return `# bash completion of wa2ai: source <(wa2ai completion bash)
_wa2ai() {
  local word place=wa2ai words=
${walk(places, `"\${COMP_WORDS[@]:1:COMP_CWORD-1}"`)}
  case "$place" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _wa2ai wa2ai
`;
}

function zsh(places: readonly Place[]): string {
  const cases = places.map(({ path, words, names }) => {
    const list = words.map(({ text, help }) => quoted(`${text.replaceAll(':', '\\:')}:${help}`));
    const things = names === undefined ? [] : [`\${(f)"$(wa2ai names ${names} 2>/dev/null)"}`];
    return `    "${path}") found=(${[...list, ...things].join(' ')}) ;;`;
  });
  return `#compdef wa2ai
# zsh completion of wa2ai: source <(wa2ai completion zsh)
_wa2ai() {
  local word place=wa2ai
  local -a found
${walk(places, `"\${(@)words[2,CURRENT-1]}"`)}
  case "$place" in
${cases.join('\n')}
  esac
  _describe wa2ai found || _files
}
compdef _wa2ai wa2ai
`;
}

function fish(places: readonly Place[]): string {
  const known = places.map(({ path }) => quoted(path)).join(' ');
  const lines = places.flatMap(({ path, words, names }) => {
    const at = `complete -c wa2ai -n ${quoted(`__wa2ai_at ${quoted(path)}`)}`;
    return [
      ...words.map(({ text, help }) => {
        const word = text.startsWith('--') ? `-l ${text.slice(2)}` : `-a ${text}`;
        return `${at} ${word} -d ${quoted(help)}`;
      }),
      ...(names === undefined ? [] : [`${at} -f -a '(wa2ai names ${names} 2>/dev/null)'`]),
    ];
  });
  return `# fish completion of wa2ai: wa2ai completion fish | source
function __wa2ai_at
  set -l place wa2ai
  for word in (commandline -opc)[2..]
    set place (string replace -r ' --.*' '' -- $place)
    contains -- "$place $word" ${known}; and set place "$place $word"
  end
  test "$place" = "$argv[1]"
end
${lines.join('\n')}
`;
}

/** A text in single quotes, as bash, zsh and fish read it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Every command below a command. */
export function descendantsOf(command: Command): Command[] {
  return command.commands.flatMap((child) => [child, ...descendantsOf(child)]);
}

/** `wa2ai accounts list` for the command `list`. */
export function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}
