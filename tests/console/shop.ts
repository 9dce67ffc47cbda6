import { type AdkMockAgent, startAdkMockAgent } from '../fixtures/adk-mock-agent.js';
import { TestBed } from '../support/test-bed.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

/** What people write first, and what the agent of the shop answers. */
const TALK = [
  ['When do you open on Saturday?', 'We open at *10:00* on Saturdays and close at *14:00*. 🙂'],
  [
    '¿Tienen el modelo azul en la talla 42?',
    'Sí, nos quedan *tres pares* en la talla 42.\n\n¿Se los reservo?',
  ],
  [
    'Order 1047 has not arrived yet',
    'Order *1047* left our warehouse yesterday:\n\n- carrier: SEUR\n- expected: tomorrow',
  ],
  ['Vocês entregam em Porto Alegre?', 'Entregamos sim! O prazo é de _quatro dias úteis_.'],
  [
    'Can I return the shoes that I bought last week?',
    'Of course. You have 30 days:\n\n1. Pack them\n2. Print the label',
  ],
  ['هل المتجر مفتوح اليوم؟', 'نعم، نحن مفتوحون حتى الساعة السادسة مساءً.'],
  ['Thanks a lot! 👍', 'You are welcome!'],
  [
    'What is the difference between the two running shoes on your page, the one for 89 € and the one for 129 €?',
    'The second one has a carbon plate and weighs 40 g less.',
  ],
] as const;

const NAMES =
  'Ana Gómez, Bruno Almeida, Chinonso Okafor, Dmitri Ivanov, Elif Yılmaz, Fatima Zahra, Giulia Rossi, Hans-Peter Müller, Isabel Núñez, João Pereira, Kateryna Shevchenko, Liam O’Connor, María José Fernández de Córdoba, Nguyễn Văn An, Olga Petrova, Paulo Souza, Qing Li, Rosa Martín, Sofía Herrera, Tomás Vidal, Úrsula Peña, Víctor Hugo Ramírez, Wanjiru Kamau, Ximena Torres, يوسف العلي, Zoë van den Berg, Alba Serra, Boris, Carla Dias, Diego, Emma Schmidt, Francisco J., Gabriela, Hugo Blanc, Inés, Jakub Nowak, Katrin, Lucía Ortega, Marc, Noor, Óscar, Priya Sharma, Raúl Gil, Sara, Thiago, Uma, Valentina'.split(
    ', ',
  );

/** A shop with 50 chats, as its operators see it. */
export interface Shop {
  bed: TestBed;
  close(): Promise<void>;
}

/**
 * Opens a shop: chats of people, groups and the playground, routes of several kinds, drafts, a stranger, dead letters, tags, a
 * pause, webhooks of which one fails, keys, a hosted agent and an account without a phone.
 */
export async function openShop(): Promise<Shop> {
  const [bed, agent] = await Promise.all([
    TestBed.startPaired({ phone: '34911220033', env: { WA2AI_PROCESS_AGENTS: 'on' } }),
    startAdkMockAgent({ maxAnswers: 0, reply: ({ new_message }) => answerTo(new_message.parts[0]?.text) }),
  ]);
  await addRoutes(bed, agent);
  await addOthers(bed);
  const people = NAMES.map((name, index) =>
    bed.person({ name, phone: `3460012${String(index).padStart(4, '0')}` }),
  );
  const [ana, bruno, chinonso, dmitri, ...others] = people as [Person, Person, Person, Person, ...Person[]];
  const group = (subject: string, jid: string) =>
    createGroup(bed.emulator, { subject, jid, members: [ana, bruno, chinonso, bed.phone] }).jid;
  const groups = [
    group('Weekend team', '120363000000000001@g.us'),
    group('Suppliers of Madrid', '120363000000000002@g.us'),
  ];
  await Promise.all(others.map((person, index) => write(bed, person, TALK[index % TALK.length]?.[0] ?? '')));
  // The list shows these first, in the order in which they wrote.
  for (const person of [...others.slice(0, 9), ana, bruno, chinonso, dmitri])
    await write(bed, person, TALK[0][0]);
  for (const to of groups) await bed.untilTurnEnded(await ana.say('Who opens the shop tomorrow?', { to }));
  await api(bed, 'PUT', `/api/chats/${await chatOf(bed, dmitri)}/tags`, { tags: ['vip', 'wholesale'] });
  await api(bed, 'POST', `/api/chats/${await chatOf(bed, chinonso)}/pause`, {
    minutes: 30,
    reason: 'Maria answers by hand.',
  });
  for (const person of [ana, bruno]) {
    await api(bed, 'POST', `/api/chats/${await chatOf(bed, person)}/pause`, { mode: 'approve' });
    await write(bed, person, TALK[1][0]);
  }
  await write(bed, dmitri, 'I need the invoice of order 1047');
  const chat = await api(bed, 'POST', '/api/playground/chats', {
    kind: 'person',
    name: 'Test customer',
    phone: '34600888888',
  });
  await api(bed, 'POST', `/api/playground/chats/${(chat.data as { id: string }).id}/messages`, {
    text: TALK[2][0],
  });
  await bed.converse({ access: { people: 'approved' } });
  await write(bed, bed.person({ name: 'Walter Stranger', phone: '34600999999' }), 'Hello, is this the shop?');
  const close = async () => {
    await bed.close();
    await agent.close();
  };
  return { bed, close };
}

/** From the one that is checked first. */
async function addRoutes(bed: TestBed, agent: AdkMockAgent): Promise<void> {
  const { data } = await api(bed, 'GET', '/api/routes');
  await api(bed, 'PATCH', `/api/routes/${(data as [{ id: string }])[0].id}`, { name: 'Everybody else' });
  const failing = await bed.anotherAgent(['--fail', '400']);
  const routes = [
    { name: 'VIP desk', when: { tags: ['vip'] }, priority: 40, regexFilter: 'order' },
    { name: 'Invoices', agent: failing, priority: 50, regexFilter: '[Ii]nvoice|factura' },
    {
      name: 'Night shift',
      when: { hours: '22:00-06:00', timeZone: 'Europe/Madrid', days: ['sat', 'sun'] },
      priority: 30,
    },
    { name: 'Support', priority: 10 },
    { name: 'Replacement of the summer', priority: 5, enabled: false },
  ];
  for (const { name, when, agent: own = agent, ...more } of routes) {
    const config = { ...(when && { when }), group: { answer: 'always' } };
    await bed.service.addRoute('*', own.url, { name, config, ...more });
  }
}

async function addOthers(bed: TestBed): Promise<void> {
  const disabled = { url: 'https://crm.example/hook', events: ['message', 'delivery'], enabled: false };
  await api(bed, 'POST', '/api/webhooks', disabled);
  await api(bed, 'POST', '/api/webhooks', { url: 'http://127.0.0.1:1999/events', events: ['message'] });
  await api(bed, 'POST', '/api/keys', { name: 'reports', scopes: ['messages:read'] });
  await api(bed, 'POST', '/api/keys', {
    name: 'newsletter',
    scopes: ['messages:send', 'messages:read', 'routes:read'],
  });
  await api(bed, 'POST', '/api/agents', {
    id: 'helper',
    hosted: { runtime: 'process', command: [process.execPath, 'server.js'] },
  });
  await api(bed, 'POST', '/api/accounts', { id: 'sales' });
}

function answerTo(text = ''): string {
  return TALK.find(([question]) => text.includes(question))?.[1] ?? `Let me look that up: ${text}`;
}

async function write(bed: TestBed, person: Person, text: string): Promise<void> {
  await bed.untilTurnEnded(await person.say(text, { to: bed.phone }));
}

async function chatOf(bed: TestBed, person: Person): Promise<string> {
  const { data } = await api(bed, 'GET', `/api/chats?channelId=${person.phone}`);
  return (data as [{ id: string }])[0].id;
}

async function api(
  bed: TestBed,
  method: string,
  path: string,
  body?: object,
): Promise<Record<string, unknown>> {
  const answer = await bed.service.api(method, path, body);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}
