import { setTimeout as wait } from 'node:timers/promises';
import { isAtLeast, type LogLine, Wa2aiProcess } from '../support/wa2ai-process.ts';
import type { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import type { Conversations } from './conversations.ts';
import { planName, type RunPlan } from './kill-plan.ts';

const LONGEST_START_MS = 120_000;
/**
 * A run that has not reached its planned end is stopped after this time. Later than 15 s after its start, turns that were
 * open in two killed processes run alone; a kill would end them as the cause, which is right (`hanging-work.test.ts`) and no
 * answer.
 */
const LONGEST_RUN_MS = 12_000;
/** Without a reply for this long while the service runs, the run counts as stuck. */
export const STUCK_AFTER_MS = 45_000;
/** Longer than any run. */
const NEVER_MS = 600_000;
/** The writers answer at once, as programs do, so the auto-reply-loop policy must be off. */
export const LIKE_PROGRAMS = { WA2AI_LOOP_TURNS: '0' };

/** One run of a node, from start to end. */
export interface ProcessRun {
  number: number;
  node: string;
  plan: string;
  /** Killed at the planned point or moment, or when all was answered before it (`idle`); or stopped, `late`: after too long. */
  end: 'fault' | 'moment' | 'idle' | 'late' | 'as asked';
  startedAtMs: number;
  /** Time from start to ready, and to the end of WhatsApp's offline phase; undefined when not reached. */
  readyMs?: number;
  liveMs?: number;
  /** With `late`: texts of the messages that were not answered. */
  waiting?: string[];
  /** Its log lines that name a message, and all of level warn and above. */
  lines: LogLine[];
}

/** Name of the node when a trial names none. */
export const ONLY_NODE = 'crash';

export interface ProcessRunsOptions {
  emulator: WhatsAppEmulator;
  databaseUrl: string;
  env?: Record<string, string>;
}

/** How one run differs from the others. */
export interface RunSettings {
  node?: string;
  env?: Record<string, string>;
  /** Address of WhatsApp, when it differs from the other runs'. */
  whatsappWsUrl?: string;
  /** Address of the database, when it differs from the other runs'. */
  databaseUrl?: string;
}

/** A run that the caller ends. */
export interface StartedRun {
  service: Wa2aiProcess;
  run: ProcessRun;
  /** Resolves when the API is served; rejects when the process ends before. */
  isReady: Promise<void>;
  /** Resolves when WhatsApp has delivered the offline messages to some node. */
  isLive: Promise<void>;
}

/** The runs of one or more nodes on one database. */
export class ProcessRuns {
  readonly all: ProcessRun[] = [];
  readonly #options: ProcessRunsOptions;

  constructor(options: ProcessRunsOptions) {
    this.#options = options;
  }

  /**
   * Runs the service until its planned end, or until every allowed message is answered.
   * @throws when the service ends unexpectedly
   */
  async run(plan: RunPlan, conversations: Conversations): Promise<ProcessRun> {
    const { service, run, isLive } = this.start(planName(plan), {
      env: plan.kind === 'fault' ? { WA2AI_FAULT_POINT: `${plan.fault.point}:${plan.fault.pass}` } : {},
    });
    const over = new AbortController();
    const { signal } = over;
    // The moment of the kill is what is tested: any time on the clock, tied to no event.
    const after = (ms: number) => wait(ms, undefined, { signal });
    const live = isLive.catch(() => new Promise<never>(() => undefined));
    const endings: Array<Promise<ProcessRun['end']>> = [
      conversations.untilAllAnswered(NEVER_MS, signal).then(() => 'idle'),
      after(LONGEST_RUN_MS).then(() => 'late'),
      service.untilExit().then((code) => {
        if (code === null && plan.kind === 'fault') return 'fault';
        throw new Error(`wa2ai ended unexpectedly in run ${run.number}, code ${code}:\n${service.tail()}`);
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
      run.end = await Promise.race(endings);
      if (run.end === 'late') run.waiting = conversations.unanswered();
    } finally {
      over.abort();
      await service.end(run.end === 'late' ? 'SIGTERM' : 'SIGKILL');
    }
    return run;
  }

  /** Runs the service until every allowed message is answered, or nothing is for long, and stops it. */
  async untilAllAnswered(conversations: Conversations): Promise<void> {
    const { service, isReady } = this.start('until all is answered');
    try {
      await isReady;
      await conversations.untilAllAnswered(STUCK_AFTER_MS);
    } finally {
      await service.end('SIGTERM');
    }
  }

  /** Starts a run. The caller ends its process. */
  start(plan: string, { node = ONLY_NODE, env, ...ways }: RunSettings = {}): StartedRun {
    const { emulator, databaseUrl } = this.#options;
    const startedAtMs = Date.now();
    const run: ProcessRun = {
      number: this.all.length + 1,
      node,
      plan,
      end: 'as asked',
      startedAtMs,
      lines: [],
    };
    this.all.push(run);
    const isLive = emulator.waitFor('live', undefined, LONGEST_START_MS).then(() => {
      run.liveMs = Date.now() - startedAtMs;
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
        run.readyMs = Date.now() - startedAtMs;
      });
    for (const event of [isLive, isReady]) event.catch(() => undefined);
    void service.untilExit().then(() => this.#keepLines(run, service));
    return { service, run, isReady, isLive };
  }

  #keepLines(run: ProcessRun, service: Wa2aiProcess): void {
    run.lines = service.lines.filter(
      (line) =>
        isAtLeast('warn', line) ||
        line.said !== undefined ||
        line.waMessageId !== undefined ||
        line.messageId !== undefined,
    );
  }
}
