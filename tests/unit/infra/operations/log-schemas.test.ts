import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  deadLetterView,
  logQuery,
  messageView,
  sentMessageView,
} from '../../../../router/src/infra/operations/log-schemas.ts';

const query = z.strictObject(logQuery);

describe('the query of a log', () => {
  it('has pages of 50 entries and no filter by default', () => {
    expect(query.parse({})).toEqual({ trace: false, limit: 50 });
  });

  it('converts its filters', () => {
    expect(
      query.parse({
        channelId: '120363025246125486@g.us',
        from: '+54 9 3777 239922',
        since: '2026-01-31T12:00:00Z',
        cursor: '4711',
        limit: '500',
      }),
    ).toEqual({
      trace: false,
      channelId: '120363025246125486@g.us',
      from: '5493777239922',
      since: new Date(Date.UTC(2026, 0, 31, 12)),
      cursor: '4711',
      limit: 500,
    });
  });

  it.each([
    [{ limit: '0' }],
    [{ limit: '501' }],
    [{ cursor: '0' }],
    [{ from: '120363025246125486@g.us' }],
    [{ channelId: '*' }],
    [{ until: 'yesterday' }],
    [{ accountId: 'a b' }],
    [{ chat: '1' }],
  ])('refuses %j', (change) => {
    expect(query.safeParse(change).success).toBe(false);
  });
});

it.each([
  ['message', messageView],
  ['message sent', sentMessageView],
  ['dead letter', deadLetterView],
])('the example of a %s fits its schema, without a field beside it', (_name, schema) => {
  const { examples = [] } = schema.meta() ?? {};
  expect(examples).toHaveLength(1);
  for (const example of examples as unknown[]) expect(schema.strict().parse(example)).toEqual(example);
});
