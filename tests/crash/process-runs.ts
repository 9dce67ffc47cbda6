import { setTimeout as wait } from 'node:timers/promises';
import { type LogLine, Wa2aiProcess } from '../support/wa2ai-process.ts';
import type { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import type { Conversations } from './conversations.ts';
import { type LifePlan, planName } from './kill-plan.ts';

/** A life that has not come to its end by then is ended all the same: from its start, and once it is live. */
const LONGEST_START_MS = 120_000;
const LONGEST_LIVE_MS = 30_000;
/** Longer than any life. */
const NEVER_MS = 600_000;
/** The writers answer the moment they are answered, as programs do; the service would stop talking to them. */
export const LIKE_PROGRAMS = { WA2AI_LOOP_TURNS: '0' };
/** pino's number of a warning. */
const WARN = 40;

/** One life of a node, from start to end. */
export interface Life {
  number: number;
  node: string;
  plan: string;
  /** SIGKILL at the planned point or moment, when all was answered before it (`idle`) or neither came (`late`); or a stop. */
  end: 'fault' | 'moment' | 'idle' | 'late' | 'as asked';
  startedAtMs: number;
  /** From start to the log's "ready", and to the end of WhatsApp's offline phase; undefined when it did not get there. */
  readyMs?: number;
  liveMs?: number;
  /** When it was `late`: the messages that were not answered, their texts. */
  waiting?: string[];
  /** What it said that belongs to a message, and everything from warnings up. */
  lines: LogLine[];
}

/** The node that lives when a trial names none. */
export const ONLY_NODE = 'crash';

export interface LivesOptions {
  emulator: WhatsAppEmulator;
  databaseUrl: string;
  env?: Record<string, string>;
}

/** How one life differs from the others. */
export interface LifeSettings {
  node?: string;
  env?: Record<string, string>;
  /** Its own way to WhatsApp. */
  whatsappWsUrl?: string;
  /** Its own way to the database. */
  databaseUrl?: string;
}

/** A life that nothing ends by itself. */
export interface StartedLife {
  service: Wa2aiProcess;
  life: Life;
  /** It serves its API; rejects when it ends before. */
  isReady: Promise<void>;
  /** WhatsApp gave some node everything that waited. */
  isLive: Promise<void>;
}

/** Lives of one or more nodes on one database. */
export class Lives {
  readonly all: Life[] = [];
  readonly #options: LivesOptions;

  constructor(options: LivesOptions) {
    this.#options = options;
  }

  /**
   * Runs one life to its planned end, or until everything that people may say is answered.
   * @throws when the service ends by itself
   */
  async live(plan: LifePlan, conversations: Conversations): Promise<Life> {
    const { service, life, isLive } = this.start(planName(plan), {
      env: plan.kind === 'fault' ? { WA2AI_FAULT_POINT: `${plan.fault.point}:${plan.fault.pass}` } : {},
    });
    const over = new AbortController();
    const { signal } = over;
    // The moment of the kill is what is tested: any time on the clock, tied to no event.
    const after = (ms: number) => wait(ms, undefined, { signal });
    // A start that takes too long ends the life as late.
    const live = isLive.catch(() => new Promise<never>(() => undefined));
    const endings: Array<Promise<Life['end']>> = [
      conversations.untilAllAnswered(NEVER_MS, signal).then(() => 'idle'),
      after(LONGEST_START_MS).then(() => 'late'),
      live.then(() => after(LONGEST_LIVE_MS)).then(() => 'late'),
      service.untilExit().then((code) => {
        if (code === null && plan.kind === 'fault') return 'fault';
        throw new Error(`wa2ai ended by itself in life ${life.number}, code ${code}:\n${service.tail()}`);
      }),
    ];
    if (plan.kind === 'start') endings.push(after(plan.afterMs).then(() => 'moment'));
    if (plan.kind === 'answers') {
      const answered = () =>
        conversations.untilAnswered(conversations.answered + plan.answers, NEVER_MS, signal);
      endings.push(
        live
          .then(answered)
          .then(() => after(plan.afterMs))
          .then(() => 'moment'),
      );
    }
    for (const ending of endings) ending.catch(() => undefined);
    try {
      life.end = await Promise.race(endings);
      if (life.end === 'late') life.waiting = conversations.unanswered();
    } finally {
      over.abort();
      await service.end('SIGKILL');
    }
    return life;
  }

  /** Starts a life; whoever asked for it ends its process. */
  start(plan: string, { node = ONLY_NODE, env, ...ways }: LifeSettings = {}): StartedLife {
    const { emulator, databaseUrl } = this.#options;
    const startedAtMs = Date.now();
    const life: Life = { number: this.all.length + 1, node, plan, end: 'as asked', startedAtMs, lines: [] };
    this.all.push(life);
    const isLive = emulator.waitFor('live', undefined, LONGEST_START_MS).then(() => {
      life.liveMs = Date.now() - startedAtMs;
    });
    const service = Wa2aiProcess.spawn({
      whatsappWsUrl: emulator.url,
      databaseUrl,
      ...ways,
      env: { WA2AI_NODE_ID: node, ...LIKE_PROGRAMS, ...this.#options.env, ...env },
    });
    const isReady = service
      .untilLog((line) => line.msg === 'wa2ai is ready', LONGEST_START_MS)
      .then((line) => {
        service.url = String(line.url);
        life.readyMs = Date.now() - startedAtMs;
      });
    for (const event of [isLive, isReady]) event.catch(() => undefined);
    void service.untilExit().then(() => this.#keepLines(life, service));
    return { service, life, isReady, isLive };
  }

  #keepLines(life: Life, service: Wa2aiProcess): void {
    life.lines = service.lines.filter(
      (line) =>
        line.level >= WARN ||
        line.said !== undefined ||
        line.waMessageId !== undefined ||
        line.messageId !== undefined,
    );
  }
}
