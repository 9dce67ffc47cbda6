import type { AgentCard } from '@a2a-js/sdk';
import type { User } from '@a2a-js/sdk/server';
import type { Request, Response } from 'express';
import { packageVersion } from '../../config/package-version.ts';
import { type Caller, taskOwnerOf, taskOwnersOf } from '../../core/access/caller.ts';
import { connectionOf } from '../../infra/operations/guard.ts';
import { baseUrlOf } from '../../infra/operations/mount.ts';

type Skill = AgentCard['skills'][number];

interface CardOptions {
  /** Where the caller reached wa2ai: `https://wa2ai.example`. */
  baseUrl: string;
  /** Callers need a key. */
  needsKey: boolean;
  /** Names of the skills that talk to shared routes; for the extended card. */
  routes?: ReadonlyArray<{ skill: string; name: string }>;
}

/** The card of wa2ai as an A2A agent, for both versions of the protocol. */
export function agentCard({ baseUrl, needsKey, routes = [] }: CardOptions): AgentCard {
  const url = `${baseUrl}/a2a`;
  return {
    name: 'wa2ai',
    description: 'Reaches people on WhatsApp: sends messages, asks people and returns their answers.',
    version: packageVersion(),
    provider: undefined,
    documentationUrl: `${baseUrl}/docs/a2a.md#wa2ai-as-an-a2a-agent`,
    supportedInterfaces: ['1.0', '0.3'].flatMap((protocolVersion) =>
      ['JSONRPC', 'HTTP+JSON'].map((protocolBinding) => ({
        url,
        protocolBinding,
        tenant: '',
        protocolVersion,
      })),
    ),
    capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true, extensions: [] },
    securitySchemes: {
      key: {
        scheme: {
          $case: 'apiKeySecurityScheme',
          value: { description: 'A key of wa2ai with the scope a2a.', location: 'header', name: 'X-API-Key' },
        },
      },
      bearer: {
        scheme: {
          $case: 'httpAuthSecurityScheme',
          value: { description: 'The same key.', scheme: 'Bearer', bearerFormat: '' },
        },
      },
    },
    securityRequirements: needsKey
      ? [{ schemes: { key: { list: [] } } }, { schemes: { bearer: { list: [] } } }]
      : [],
    defaultInputModes: ['text/plain', 'application/json'],
    defaultOutputModes: ['text/plain', 'application/json'],
    skills: [...PERSON_SKILLS, ...routes.map(({ skill, name }) => routeSkill(skill, name))],
    signatures: [],
  };
}

function skill(id: string, name: string, description: string, example: Record<string, unknown>): Skill {
  return {
    id,
    name,
    description,
    tags: ['whatsapp'],
    examples: [JSON.stringify(example)],
    inputModes: ['application/json'],
    outputModes: ['text/plain', 'application/json'],
    securityRequirements: [],
  };
}

const PERSON_SKILLS = [
  skill(
    'message-person',
    'Message a person or a group',
    'Sends a text on WhatsApp. Its delivery state follows as updates; the task completes when it is delivered.',
    { skill: 'message-person', to: '5493777239922', text: 'Your order is on its way.', deadlineMinutes: 60 },
  ),
  skill(
    'ask-person',
    'Ask a person',
    'Asks a person on WhatsApp and completes with the answer. May take days. The person is reminded once, after half of the time.',
    { skill: 'ask-person', to: '5493777239922', text: 'May we deliver at 5 pm?', deadlineMinutes: 1440 },
  ),
];

function routeSkill(id: string, name: string): Skill {
  return {
    ...skill(id, `Talk to ${name}`, 'Asks an agent. A context is one conversation.', {
      skill: id,
      text: 'Hello',
    }),
    inputModes: ['text/plain', 'application/json'],
    outputModes: ['text/plain'],
    tags: ['agent'],
  };
}

/** The card as version 1.0 writes it as JSON. */
export function cardJson(card: AgentCard): Record<string, unknown> {
  const schemes = Object.entries(card.securitySchemes).map(([name, { scheme }]) => [
    name,
    scheme ? { [scheme.$case]: scheme.value } : {},
  ]);
  return { ...card, securitySchemes: Object.fromEntries(schemes) };
}

/** A reader that takes nothing for so long is disconnected. */
const MAX_DRAIN_MS = 60_000;
/** Comments that keep a quiet stream open through proxies. */
const KEEP_ALIVE_MS = 15_000;

/** Who calls, and the connection of the call; the SDK carries it to the handler. */
export class A2aCaller implements User {
  readonly isAuthenticated = true;
  readonly caller: Caller;
  readonly requestId: string;
  readonly address: string;
  readonly baseUrl: string;
  readonly #response: Response;

  /** @param publicUrl of this installation */
  constructor(request: Request, response: Response, publicUrl?: string) {
    this.caller = response.locals.caller;
    this.requestId = response.locals.requestId;
    this.address = connectionOf(request).address;
    this.baseUrl = baseUrlOf(request, publicUrl);
    this.#response = response;
  }

  /** Who owns the tasks that the caller opens. */
  get userName(): string {
    return taskOwnerOf(this.caller);
  }

  /** Whose tasks the caller sees. */
  get owners(): readonly string[] {
    return taskOwnersOf(this.caller);
  }

  /** The response of the call gets status 429. */
  overLimit(): void {
    if (!this.#response.headersSent) this.#response.status(429);
  }

  /** Aborts when the caller has disconnected. */
  disconnected(): AbortSignal {
    const gone = new AbortController();
    if (this.#response.closed) gone.abort();
    else this.#response.once('close', () => gone.abort());
    return gone.signal;
  }

  /** Resolves when the caller has taken what was written. A caller who is too slow is disconnected. */
  async drained(): Promise<void> {
    const response = this.#response;
    if (!response.writableNeedDrain || response.closed) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => response.destroy(), MAX_DRAIN_MS);
      const done = () => {
        clearTimeout(timer);
        response.off('drain', done).off('close', done);
        resolve();
      };
      response.once('drain', done).once('close', done);
    });
  }

  /** Keeps the stream of the call open while nothing happens. @returns stops it */
  keepAlive(): () => void {
    const response = this.#response;
    const timer = setInterval(() => {
      if (response.headersSent && !response.writableNeedDrain && !response.writableEnded) {
        response.write(': keep-alive\n\n');
      }
    }, KEEP_ALIVE_MS);
    timer.unref();
    return () => clearInterval(timer);
  }
}
