import {
  type EmotionEvent,
  FORGOTTEN_AFTER_MS,
  type NpcEmotions,
  type NpcScope,
} from '../../router/src/features/npc/memories.ts';

/** Emotions of NPCs in memory. */
export class MemoryNpcEmotions implements NpcEmotions {
  readonly #now: () => number;
  readonly #events: Array<NpcScope & EmotionEvent & { taskId: string }> = [];

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  async add(
    scope: NpcScope,
    { taskId, trigger, intensity }: { taskId: string; trigger: string; intensity: number },
  ): Promise<void> {
    if (this.#events.some((event) => event.taskId === taskId)) return;
    this.#events.push({ ...scope, taskId, trigger, intensity, atMs: this.#now() });
  }

  async events({ npc, peer }: NpcScope): Promise<EmotionEvent[]> {
    return this.#events
      .filter((event) => event.npc === npc && event.peer === peer)
      .filter(({ atMs }) => atMs > this.#now() - FORGOTTEN_AFTER_MS)
      .map(({ trigger, intensity, atMs }) => ({ trigger, intensity, atMs }));
  }
}
