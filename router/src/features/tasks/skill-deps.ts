import type { AgentClients } from '../../core/agent-client.ts';
import type { SendMessageInput } from '../../core/delivery/send-message.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Logger } from '../../core/ports/logger.ts';
import type { MessageLog } from '../../core/ports/message-log.ts';
import type { OutboxRow } from '../../core/ports/outbox.ts';
import type { Questions } from '../../core/ports/questions.ts';
import type { RouteStore } from '../../core/ports/route-store.ts';
import type { FailureDefaults } from '../../core/turns/ask-route.ts';
import type { CircuitBreakers } from '../../core/turns/circuit-breaker.ts';
import type { NewUpdate, ServedTasks } from './served-tasks.ts';
import type { TaskFeed, TaskWatch } from './task-feed.ts';

export interface ServeTaskDeps {
  servedTasks: ServedTasks;
  questions: Questions;
  feed: Pick<TaskFeed, 'watch'>;
  /** Stores a message to send; the same idempotencyKey returns the first row. */
  sendMessage(input: SendMessageInput): Promise<{ outcome: 'queued' | 'known' | 'conflict'; row: OutboxRow }>;
  messageLog: Pick<MessageLog, 'sentMessage'>;
  routes: Pick<RouteStore, 'get'>;
  agents: AgentClients;
  policy: FailureDefaults;
  circuits: CircuitBreakers;
  clock: Clock;
  log: Logger;
}

/** What a skill works with. */
export interface SkillDeps extends ServeTaskDeps {
  /** Aborts when the process stops. */
  stopping: AbortSignal;
  /** The changes of the task. */
  watch: TaskWatch;
  /** Stores the next update of the task. @returns false: it is stored already, or the task has ended */
  update(update: NewUpdate): Promise<boolean>;
}
