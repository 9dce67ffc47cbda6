import { expect, it } from 'vitest';
import { inspectionText } from '../../../../router/src/infra/agents/inspection.ts';

const found = {
  kind: 'echo',
  url: 'http://agent',
  isReachable: true,
  answer: 'status 200',
  latencyMs: 3,
  capabilities: [],
};

it('inspectionText shows what is known', () => {
  expect(inspectionText(found)).toBe(
    'http://agent\nkind          echo\nanswer        status 200, 3 ms\ncapabilities  (none listed)',
  );
  const more = { ...found, version: '2.0', capabilities: ['a', 'b'], route: { channelId: '*' } };
  expect(inspectionText(more, ['extra         one']).split('\n').slice(3)).toEqual(
    [
      'version       2.0',
      'capabilities  a, b',
      'extra         one',
      '',
      'Body for POST /api/routes:',
      '{',
      '  "channelId": "*"',
      '}',
    ].slice(0),
  );
});
