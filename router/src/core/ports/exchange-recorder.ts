import type { AgentExchange } from '../agent-exchange.ts';

/** Records what is exchanged with agents. */
export interface ExchangeRecorder {
  /**
   * Runs one attempt; then `onExchange` gets each of its requests with the answer, in order and without secrets.
   * @throws what `work` throws, after `onExchange`
   */
  during<Result>(onExchange: (exchange: AgentExchange) => void, work: () => Promise<Result>): Promise<Result>;
}
