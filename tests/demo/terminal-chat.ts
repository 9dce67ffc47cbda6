import { createInterface } from 'node:readline';
import type { GroupInfo } from '../whatsapp-emulator/actors.ts';
import type { Person } from '../whatsapp-emulator/person.ts';
import { say } from './output.ts';

/** The longest delay of a Node.js timer, 24 days. */
const FOREVER_MS = 2 ** 31 - 1;

const COMMANDS = `
Type a message and press Enter. Ana sends it to the account.
  /ana, /bo    write as Ana or Bo to the account
  /group       write to the group "Friends"
  /quit        end the demo (Ctrl-C does the same)`;

export interface TerminalChatDeps {
  people: { ana: Person; bo: Person };
  group: GroupInfo;
  /** The account's address. */
  account: string;
  serviceUrl: string;
}

/** Lets a user type messages as the people of the demo and prints every reply. Resolves at `/quit` or Ctrl-D. */
export async function chatInTerminal({
  people,
  group,
  account,
  serviceUrl,
}: TerminalChatDeps): Promise<void> {
  for (const person of Object.values(people)) void printReplies(person, group);
  console.log(`${COMMANDS}

While the demo runs, try in another terminal or a browser:
  ${serviceUrl}/                           the pages of wa2ai
  curl ${serviceUrl}/api/messages          the messages so far, with their replies
  curl ${serviceUrl}/api/routes            the route, and its id
  curl -X PATCH ${serviceUrl}/api/routes/ID -H 'Content-Type: application/json' \\
    -d '{"agentEndpoint":"http://127.0.0.1:8000","config":{"adk":{"appName":"YOUR_APP","baseUrl":null}}}'
                                           answers come from your own ADK agent
`);
  const terminal = createInterface({
    input: process.stdin,
    output: process.stdin.isTTY ? process.stdout : undefined,
    prompt: '',
  });
  let writer = people.ana;
  let chat = { to: account, label: '' };
  const handleLine = async (line: string): Promise<'quit' | undefined> => {
    const text = line.trim();
    if (text === '') return undefined;
    if (text === '/quit') return 'quit';
    if (text === '/group') chat = { to: group.jid, label: `[${group.subject}] ` };
    else if (text === '/ana' || text === '/bo') {
      writer = text === '/ana' ? people.ana : people.bo;
      chat = { to: account, label: '' };
    } else if (text.startsWith('/')) console.log(COMMANDS);
    else {
      say(writer.pushName, `${chat.label}"${text}"`);
      await writer.say(text, { to: chat.to });
      return undefined;
    }
    say('demo', `you write as ${writer.pushName}${chat.label === '' ? '' : ` in ${group.subject}`}`);
    return undefined;
  };
  for await (const line of terminal) if ((await handleLine(line)) === 'quit') return;
  // Input that is not a terminal may end at once, as with "< /dev/null": the demo then runs until a signal ends it.
  if (!process.stdin.isTTY) await new Promise(() => undefined);
}

async function printReplies(person: Person, group: GroupInfo): Promise<void> {
  for (;;) {
    const reply = await person.nextReply(FOREVER_MS);
    const label = reply.chat === group.jid ? `[${group.subject}] ` : '';
    say('wa2ai', `${label}"${reply.text}"   (seen by ${person.pushName})`);
  }
}
