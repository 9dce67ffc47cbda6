import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Problem } from '../../../../../console/src/api/problem.ts';
import {
  draftOf,
  mergePatchOf,
  mistakeAt,
  mistakesOf,
  newDraft,
  newRouteOf,
  patchOf,
  withField,
  withKind,
} from '../../../../../console/src/pages/routes/route-draft.ts';
import { mergePatch } from '../../../../../router/src/features/routes/route-schemas.ts';

const ROUTE = {
  id: '01900000-0000-7000-8000-000000000001',
  accountId: 'default',
  channelId: '*',
  agentEndpoint: 'http://localhost:8000',
  environment: 'lab' as const,
  priority: 0,
  enabled: true,
  config: { adk: { appName: 'a', headers: { Authorization: '***' } }, pace: { debounceMs: 1 } },
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
};

describe('patchOf', () => {
  const before = draftOf(ROUTE);

  it('has the fields that differ, and no secret that is kept', () => {
    const config = withField(before.config, 'adk', { ...(before.config.adk as object), appName: 'b' });
    expect(patchOf(before, { ...before, priority: 2, config })).toEqual({
      priority: 2,
      config: { adk: { appName: 'b' } },
    });
    expect(patchOf(before, before)).toEqual({});
  });

  it('removes with null what can be removed', () => {
    const named = { ...before, name: 'x', regexFilter: '^a', accountId: 'y' };
    const config = withField(before.config, 'pace', undefined);
    expect(patchOf(named, { ...named, name: '', regexFilter: '', accountId: '', config })).toEqual({
      name: null,
      regexFilter: null,
      config: { pace: null },
    });
  });

  it('replaces the settings of one kind with those of another', () => {
    const config = withKind(before.config, 'adk', 'openai', { model: 'm' });
    expect(patchOf(before, { ...before, config })).toEqual({ config: { adk: null, openai: { model: 'm' } } });
  });
});

it('a merge patch makes the one config of the other, as the service merges it', () => {
  const value = fc.letrec((tie) => ({
    object: fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('any'), { maxKeys: 3 }),
    any: fc.oneof(
      { maxDepth: 3 },
      fc.integer(),
      fc.constantFrom('x', true),
      fc.array(fc.integer()),
      tie('object'),
    ),
  })).object as fc.Arbitrary<Record<string, unknown>>;
  fc.assert(
    fc.property(value, value, (before, after) => {
      expect(mergePatch(before, mergePatchOf(before, after))).toEqual(after);
    }),
  );
});

it('a new route has what was written', () => {
  const draft = { ...newDraft('echo', 0), channelId: '123' };
  expect(newRouteOf(draft)).toEqual({ channelId: '123', priority: 0, enabled: true, config: { echo: {} } });
  expect(newRouteOf({ ...draft, name: 'x', environment: 'prod' })).toMatchObject({
    name: 'x',
    environment: 'prod',
  });
});

it('a field without a value is not in the config', () => {
  const config = { adk: { appName: 'a' }, edits: 'ignore' };
  expect(withField(config, 'edits', undefined)).toEqual({ adk: config.adk });
  expect(withField(config, 'shared', false)).toEqual({ ...config, shared: false });
});

it('mistakes belong to the field that shows them, also when a preview names them', () => {
  const problem = new Problem(400, 'INVALID_BODY', 'Wrong.', [
    { field: 'create.config.when.tags.0', message: 'must be one word' },
    { field: 'change.patch.regexFilter', message: 'is wrong' },
    { field: 'config.abi.functions[1]', message: 'is no function' },
  ]);
  const mistakes = mistakesOf(problem);
  expect(mistakeAt(mistakes, 'config.when.tags')).toBe('must be one word');
  expect(mistakeAt(mistakes, 'regexFilter')).toBe('is wrong');
  expect(mistakeAt(mistakes, 'config.abi.functions')).toBe('is no function');
  expect(mistakeAt(mistakes, 'config.when.tag')).toBeUndefined();
  expect(mistakesOf(undefined)).toEqual([]);
});
