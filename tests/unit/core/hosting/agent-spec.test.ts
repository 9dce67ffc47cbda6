import { describe, expect, it } from 'vitest';
import { isImageName } from '../../../../router/src/core/hosting/agent-life.ts';

describe('the name of an image', () => {
  it.each([
    ...['a', 'chat-node:1', 'team/agent', 'registry.example/agent:1', 'registry.example:5000/a/b__c:v1.0-x'],
    ...[
      'localhost/a',
      `a@sha256:${'0'.repeat(64)}`,
      `r.example/a:1@sha256:${'0'.repeat(64)}`,
      `sha256:${'0'.repeat(64)}`,
    ],
  ])('may be %s', (name) => {
    expect(isImageName(name)).toBe(true);
  });

  it.each([
    ...[
      '',
      '../../version',
      'a/../b',
      '..',
      'a..b',
      '/a',
      'a/',
      'a//b',
      'a:',
      'a:b:c',
      'a:.b',
      'A',
      'a/B',
      'a b',
    ],
    ...['a@sha256:1', 'a@b@c', 'a?b', 'a%2e', 'r..example/a', `a:${'x'.repeat(129)}`],
  ])('is not %j', (name) => {
    expect(isImageName(name)).toBe(false);
  });
});
