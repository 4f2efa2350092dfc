import { describe, expect, test } from 'vitest';
import { formatOpenMetrics } from '../../lambdas/support/open-metrics.ts';
import { readOpenMetrics, totalOf } from './read-open-metrics.ts';
import { useMetrics } from './use-metrics.ts';

const metrics = useMetrics();

const admin = async (path: string, body?: object) => {
  const response = await fetch(`${metrics.router().baseUrl}/admin${path}`, {
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    headers: { 'content-type': 'application/json' },
  });
  return (await response.json()) as {
    total: Record<string, number>;
    data: Record<string, never>[];
  };
};

describe('GET /admin/metrics', () => {
  test('the metrics have the counters of the history and of the meter, by project, model and outcome', async () => {
    const families = await metrics();
    const { total } = await admin('/usage?by=model');
    const count = (outcome: string) =>
      totalOf(families, 'model_router_requests_total', { project: 'local', outcome });
    expect([count('charged'), count('refunded'), count('refused')]).toEqual([
      total.charged,
      total.refunded,
      total.refused,
    ]);
    const [meter] = (await admin('/projects/local/usage')).data;
    expect(count('charged')).toBe(meter?.used);
    expect(totalOf(families, 'model_router_tokens_total', { kind: 'input' })).toBe(
      total.input_tokens,
    );
    expect(totalOf(families, 'model_router_cost_dollars_total')).toBeCloseTo(
      total.cost_usd ?? Number.NaN,
      9,
    );
    expect(
      totalOf(families, 'model_router_requests_total', { model: '(none)', outcome: 'refused' }),
    ).toBe(1);
  });

  test('the metrics have each request that took a unit in the histogram of durations, and each stream that began in that of first content', async () => {
    const families = await metrics();
    const taken = ['charged', 'refunded'].map((outcome) =>
      totalOf(families, 'model_router_requests_total', { outcome }),
    );
    expect(totalOf(families, 'model_router_duration_seconds_count')).toBe(
      taken.reduce((sum, count) => sum + count),
    );
    const model = 'test/answers';
    expect(totalOf(families, 'model_router_duration_seconds_count', { model })).toBe(3);
    expect(totalOf(families, 'model_router_first_content_seconds_count', { model })).toBe(2);
    expect(totalOf(families, 'model_router_duration_seconds_sum', { model })).toBeGreaterThan(0);
  });

  test('the metrics have the calls of each target, those that failed, and the kinds of failures', async () => {
    const families = await metrics();
    const attempts = families.get('model_router_attempts')?.samples ?? [];
    const failed = attempts.filter(({ labels }) => labels.outcome === 'failed');
    expect(failed.some(({ value }) => value > 0)).toBe(true);
    expect(totalOf(families, 'model_router_attempts_total', { outcome: 'answered' })).toBe(3);
    expect(totalOf(families, 'model_router_failures_total')).toBeGreaterThanOrEqual(4);
    const states = families.get('model_router_target_held_off')?.samples ?? [];
    expect(states.length).toBeGreaterThan(3);
    expect(states.every(({ value }) => value === 0 || value === 1)).toBe(true);
  });

  test('the response is text of OpenMetrics 1.0 by its content type', async () => {
    const { type, text } = await metrics.scrape();
    expect(type).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
    expect(text).toContain(
      '# TYPE model_router_cost_dollars counter\n# UNIT model_router_cost_dollars dollars\n',
    );
    expect(text.endsWith('# EOF\n')).toBe(true);
  });

  test('no counter counts backwards while requests are added', async () => {
    const before = await metrics();
    const { baseUrl, key } = metrics.router();
    await fetch(`${baseUrl}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({
        ...{ model: 'test/answers', max_tokens: 20 },
        messages: [{ role: 'user', content: 'say one' }],
      }),
    }).then((response) => response.text());
    const after = await metrics();
    for (const { type, samples } of before.values()) {
      for (const { name, labels, value } of type === 'gauge' ? [] : samples) {
        expect([name, labels, totalOf(after, name, labels) >= value]).toEqual([name, labels, true]);
      }
    }
    const charged = (families: typeof after) =>
      totalOf(families, 'model_router_requests_total', { outcome: 'charged' });
    expect(charged(after)).toBe(charged(before) + 1);
  });

  test('projects after the hundred oldest are added up as other, so that series stay few', async () => {
    for (let count = 0; count < 103; count += 1) await admin('/projects', { id: `team-${count}` });
    const samples = (await metrics()).get('model_router_unrecorded_units')?.samples ?? [];
    expect(samples).toHaveLength(101);
    const names = samples.map(({ labels }) => labels.project);
    expect(names).toContain('local');
    expect(names.at(-1)).toBe('other');
  });
});

describe('the text of OpenMetrics', () => {
  test('the text carries any name of a label through escapes', () => {
    const names = ['a"b', 'a\\', 'line\nbreak', '\\n', '{x="1"} 2', '=cmd', 'ä 🙂', ''];
    const text = formatOpenMetrics([
      {
        name: 'x',
        type: 'counter',
        help: 'He said "\\"\nand',
        points: names.map((name, at) => [{ name }, at]),
      },
    ]);
    const samples = readOpenMetrics(text).get('x')?.samples ?? [];
    expect(samples.map(({ labels }) => labels.name)).toEqual(names);
  });

  test.each([
    ['without an end', '# TYPE x gauge\nx 1\n'],
    ['with a counter without its suffix', '# TYPE x counter\nx 1\n# EOF\n'],
    ['with a label twice', '# TYPE x gauge\nx{a="1",a="2"} 1\n# EOF\n'],
    ['with a sample twice', '# TYPE x gauge\nx 1\nx 2\n# EOF\n'],
    ['with a unit that the name lacks', '# TYPE x gauge\n# UNIT x seconds\nx 1\n# EOF\n'],
    ['with families that are mixed', '# TYPE x gauge\n# TYPE y gauge\nx 1\n# EOF\n'],
    [
      'with buckets that shrink',
      '# TYPE x histogram\nx_bucket{le="1.0"} 2\nx_bucket{le="+Inf"} 1\nx_count 1\nx_sum 1\n# EOF\n',
    ],
    ['with a line break in a label', '# TYPE x gauge\nx{a="1\n2"} 1\n# EOF\n'],
  ])('a text %s is rejected by the reader of these tests', (_, text) => {
    expect(() => readOpenMetrics(text)).toThrow();
  });
});
