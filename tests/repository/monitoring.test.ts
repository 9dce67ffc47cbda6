import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { type HttpApi, startHttpApi } from '../support/http-api.ts';
import { repositoryRoot } from '../support/repository.ts';

const RULES = 'deploy/monitoring/prometheus-rules.yaml';
const DASHBOARD = 'deploy/monitoring/grafana-dashboard.json';
const GUIDE = 'docs/operations.md';

const read = (path: string) => readFileSync(join(repositoryRoot, path), 'utf8');

const rulesSchema = z.strictObject({
  groups: z.array(
    z.strictObject({
      name: z.string(),
      rules: z.array(
        z.strictObject({
          alert: z.string().regex(/^Wa2ai[A-Z]\w+$/),
          expr: z.string(),
          for: z
            .string()
            .regex(/^\d+m$/)
            .optional(),
          labels: z.strictObject({ severity: z.enum(['warning', 'critical']) }),
          annotations: z.strictObject({ summary: z.string(), runbook: z.string() }),
        }),
      ),
    }),
  ),
});
const dashboardSchema = z.looseObject({
  uid: z.literal('wa2ai'),
  panels: z.array(
    z.looseObject({
      title: z.string().min(1),
      type: z.enum(['row', 'stat', 'timeseries']),
      targets: z.array(z.looseObject({ expr: z.string() })).optional(),
      gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
    }),
  ),
});

const rules = rulesSchema.parse(parse(read(RULES))).groups.flatMap((group) => group.rules);
const { panels } = dashboardSchema.parse(JSON.parse(read(DASHBOARD)));
const expressions = [
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)),
];

/** Grafana replaces its variables before it asks Prometheus. */
function asPromQl(expression: string): string {
  return expression.replaceAll('$__rate_interval', '5m').replaceAll('$account', '.*');
}

/** The names of the metrics in an expression. @throws {SyntaxError} it is not PromQL */
function metricsOf(expression: string): string[] {
  const text = asPromQl(expression);
  const names: string[] = [];
  const visit = (node: SyntaxNode) => {
    if (node.type.isError) throw new SyntaxError(`not PromQL at ${node.from}: ${text}`);
    if (node.name === 'VectorSelector') {
      const identifier = node.getChild('Identifier');
      if (identifier) names.push(text.slice(identifier.from, identifier.to));
    }
    for (let child = node.firstChild; child; child = child.nextSibling) visit(child);
  };
  visit(parser.parse(text).topNode);
  return names;
}

/** What Prometheus makes itself. */
const OF_PROMETHEUS = ['up'];

let api: HttpApi;
let exported: Set<string>;

beforeAll(async () => {
  api = await startHttpApi();
  const { text } = await api.call('GET', '/metrics');
  const families = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)];
  exported = new Set(
    families.flatMap(([, name = '', type]) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  );
});
afterAll(() => api.close());

describe('the parser of expressions', () => {
  it('finds names of metrics, and refuses what is no PromQL', () => {
    expect(
      metricsOf('sum(rate(a_total{x="$account"}[$__rate_interval])) / max(b) > 2 unless c offset 5m'),
    ).toEqual(['a_total', 'b', 'c']);
    for (const wrong of ['sum(rate(a[5m])', 'max by (a)', 'a{x=}', 'a >> 2']) {
      expect(() => metricsOf(wrong), wrong).toThrow(SyntaxError);
    }
  });
});

describe('the alert rules and the dashboard', () => {
  it.each(expressions)(
    '%s: the expression is PromQL and names metrics that wa2ai exports',
    (_title, expression) => {
      const names = metricsOf(expression);
      expect(names).not.toEqual([]);
      for (const name of names) expect([...OF_PROMETHEUS, ...exported], expression).toContain(name);
    },
  );

  it('names states that exist', () => {
    const states = ['answered', 'ignored', 'dead', 'open', 'restricted'];
    for (const [title, expression] of expressions) {
      for (const [, value = ''] of expression.matchAll(/state[!=~]+"([^"$]+)"/g)) {
        for (const state of value.split('|')) expect(states, title).toContain(state);
      }
    }
  });

  it('show every metric of wa2ai', () => {
    const named = new Set(expressions.flatMap(([, expression]) => metricsOf(expression)));
    const own = [...exported].filter((name) => name.startsWith('wa2ai_') && !/_(sum|count)$/.test(name));
    expect(own.filter((name) => !named.has(name))).toEqual([]);
  });

  it('have panels that do not overlap', () => {
    const places = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)} ${y + Math.floor(cell / w)}`),
    );
    expect(new Set(places).size).toBe(places.length);
  });

  it('have different names, and each alert a chapter of the guide', () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    const guide = read(GUIDE);
    for (const { alert, annotations } of rules) {
      expect(guide).toContain(`### ${alert}\n`);
      expect(annotations.runbook).toBe(`${GUIDE}#${alert.toLowerCase()}`);
    }
    const chapters = [...guide.matchAll(/^#### (Wa2ai\w+)$/gm)].map(([, name]) => name);
    expect(chapters).toEqual(rules.map(({ alert }) => alert));
  });

  it('pass promtool where it is installed', () => {
    const promtool = (process.env.PATH ?? '')
      .split(delimiter)
      .map((folder) => join(folder, 'promtool'))
      .find((path) => existsSync(path));
    // Without it, the parser above has read the same file.
    expect(rules.length).toBeGreaterThan(10);
    if (promtool === undefined) return;
    const { status, stdout, stderr } = spawnSync(promtool, ['check', 'rules', join(repositoryRoot, RULES)]);
    expect(status, `${stdout}${stderr}`).toBe(0);
  });
});
