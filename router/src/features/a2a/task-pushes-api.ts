import { say } from '../../core/phrases.ts';
import type { App } from '../../feature.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import { HttpProblem, problemSchema } from '../../infra/operations/problem.ts';

/** Notifications of A2A agents: their address is the secret, so no key is needed. The body is not read. */
export function taskPushesApi({ receivePush }: App): Endpoint[] {
  return [
    endpoint({
      method: 'post',
      path: '/task-pushes/{token}',
      operationId: 'pushTask',
      tag: 'Agents',
      summary: 'Say that a task has changed',
      description:
        'For A2A agents with push notifications, which get this address for each long task that wa2ai follows. wa2ai then looks at the task. Needs no key.',
      scopes: 'public',
      params: { token: 'The last part of the address.' },
      responses: {
        204: { description: 'wa2ai looks at the task.' },
        404: { description: 'No such address.', schema: problemSchema },
      },
      handle: async ({ params: { token = '' } }) => {
        if (!(await receivePush(token))) throw new HttpProblem(404, 'NOT_FOUND', say('problem.no-address'));
        return { status: 204 };
      },
    }),
  ];
}
