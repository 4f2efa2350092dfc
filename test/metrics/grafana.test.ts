import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { judgeOf } from '../support/type-judge.ts';
import { useMetrics } from './use-metrics.ts';

const text = readFileSync(new URL('../../docs/grafana.json', import.meta.url), 'utf8');
const Target = z.looseObject({ expr: z.string() });
const Panel = z.looseObject({
  id: z.int(),
  title: z.string().min(1),
  description: z.string().min(1),
  datasource: z.object({ uid: z.string().regex(/^\$\{datasource\}$/) }),
  gridPos: z.object({ x: z.int(), y: z.int(), w: z.int(), h: z.int() }),
  targets: z.array(Target).min(1),
});
const Variable = z.looseObject({ name: z.string(), type: z.string(), query: z.string() });
const dashboard = z
  .looseObject({
    uid: z.string(),
    templating: z.object({ list: z.array(Variable) }),
    panels: z.array(Panel),
  })
  .parse(JSON.parse(text));

const expressions = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));

/** By name: on an install without it these tests fail, and the checks of types do not. */
const [PROMQL]: string[] = ['@prometheus-io/lezer-promql'];
const { parser } = await import(String(PROMQL));

/** What Grafana puts in the place of its own variables. */
const filled = (expression: string): string =>
  expression.replaceAll('$__range', '6h').replaceAll('$window', '5m');

/** Names of nodes of the grammar, and their texts. */
const nodesOf = (expression: string): { name: string; text: string }[] => {
  const nodes: { name: string; text: string }[] = [];
  parser.parse(expression).iterate({
    enter: ({ name, from, to }: { name: string; from: number; to: number }) => {
      nodes.push({ name, text: expression.slice(from, to) });
    },
  });
  return nodes;
};
const textsOf = (expression: string, name: string): string[] =>
  nodesOf(expression).flatMap((node) => (node.name === name ? [node.text] : []));

const metrics = useMetrics();

test('the dashboard has the form that types of Grafana give it', () => {
  const judge = judgeOf('@grafana/grafana-foundation-sdk/dashboard', 'Dashboard');
  expect(judge(JSON.parse(text))).toEqual([]);
});

test('each expression of the dashboard is PromQL by the grammar of Prometheus', () => {
  expect(expressions.length).toBeGreaterThan(10);
  for (const expression of expressions) {
    expect([expression, textsOf(filled(expression), '⚠')]).toEqual([expression, []]);
  }
  expect(textsOf('sum by (model (up)', '⚠')).not.toEqual([]);
});

test('each expression of the dashboard uses metrics and labels that GET /admin/metrics has, and no other', async () => {
  const families = await metrics();
  const known = new Map<string, Set<string>>();
  for (const sample of [...families.values()].flatMap(({ samples }) => samples)) {
    const labels = known.get(sample.name) ?? new Set();
    for (const label of Object.keys(sample.labels)) labels.add(label);
    known.set(sample.name, labels);
  }
  const used = new Set<string>();
  for (const expression of expressions.map(filled)) {
    const names = textsOf(expression, 'Identifier');
    for (const name of names) {
      expect([expression, [...known.keys()]]).toEqual([expression, expect.arrayContaining([name])]);
      used.add(name);
    }
    const labels = textsOf(expression, 'LabelName');
    for (const label of labels) {
      const owners = names.filter((name) => known.get(name)?.has(label));
      expect([expression, label, owners]).toEqual([expression, label, names]);
    }
  }
  for (const family of families.keys()) {
    if (family.includes('_plan_')) continue;
    expect([family, [...used].some((name) => name.startsWith(family))]).toEqual([family, true]);
  }
});

test('panels of the dashboard have their own ids and do not overlap, and its variables exist', () => {
  const { panels, templating } = dashboard;
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) => {
    expect(x + w).toBeLessThanOrEqual(24);
    return Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`);
  });
  expect(new Set(cells).size).toBe(cells.length);
  const variables = templating.list.map(({ name }) => name);
  const named = [...text.matchAll(/\$\{?(?!__)(\w+)/g)].map(([, name]) => name);
  expect(new Set(named)).toEqual(new Set(variables));
});
