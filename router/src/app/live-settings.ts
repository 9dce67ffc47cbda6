import type { Config } from '../config/config.ts';
import { type ServiceSettings, serviceSettingsOf } from '../config/live-settings.ts';
import type { Clock } from '../core/clock.ts';
import type { NodeBus } from '../core/cluster/node-bus.ts';
import type { Logger } from '../core/logger.ts';
import type { SettingsStore } from '../core/ports/settings-store.ts';
import { settingsChanged } from '../infra/db/stores/postgres-settings.ts';

/** A change whose notification was lost is found so much later. */
const READ_EVERY_MS = 30_000;

interface LiveSettingsDeps {
  config: Config;
  store: Pick<SettingsStore, 'get'>;
  bus: Pick<NodeBus, 'on'>;
  /** Called with each change, and with the first settings. */
  onChange(settings: ServiceSettings): void;
  clock: Clock;
  log: Logger;
}

/** The settings that admins change while wa2ai runs, for code that cannot wait for the database: those of the last read. */
export class LiveSettings {
  readonly #deps: LiveSettingsDeps;
  readonly #stopping = new AbortController();
  #current: ServiceSettings;

  constructor(deps: LiveSettingsDeps) {
    this.#deps = deps;
    this.#current = serviceSettingsOf(undefined, deps.config);
  }

  /** The variables until `start` has ended. */
  get current(): ServiceSettings {
    return this.#current;
  }

  /** Reads them, now and after each change. */
  async start(): Promise<void> {
    this.#deps.bus.on(settingsChanged, () => void this.#read());
    await this.#read();
    void this.#readRepeatedly();
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #readRepeatedly(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#deps.clock.sleep(READ_EVERY_MS, signal).catch(() => undefined);
      if (!signal.aborted) await this.#read();
    }
  }

  /** Without the database the last ones stay. */
  async #read(): Promise<void> {
    const { config, store, onChange, log } = this.#deps;
    try {
      this.#current = serviceSettingsOf(await store.get('service'), config);
      onChange(this.#current);
    } catch (error) {
      log.debug({ err: error }, 'settings not read, retrying');
    }
  }
}
