import type { AgentClients } from '../agent-client.ts';
import type { SendMessageInput } from '../delivery/send-message.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { MessageLog } from '../ports/message-log.ts';
import type { OutboxRow } from '../ports/outbox.ts';
import type { Questions } from '../ports/questions.ts';
import type { RouteStore } from '../ports/route-store.ts';
import type { NewUpdate, ServedTasks } from '../ports/served-tasks.ts';
import type { FailureDefaults } from '../turns/ask-route.ts';
import type { CircuitBreakers } from '../turns/circuit-breaker.ts';
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
