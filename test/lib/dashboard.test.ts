import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { NAMESPACE, SCOPES } from '../../lambdas/metrics.ts';
import { drawDashboard, widgetsOf } from '../support/dashboard-picture.ts';
import { METRIC_NAMES } from '../support/metrics.ts';
import { exampleModels, synthTemplate } from './synth.ts';

const PICTURE = new URL('../../docs/dashboard.svg', import.meta.url);

const widgetsWith = (models: typeof exampleModels) => {
  const [dashboard] = Object.values(
    synthTemplate({}, { models }).findResources('AWS::CloudWatch::Dashboard'),
  );
  return widgetsOf(dashboard?.Properties.DashboardBody);
};
const widgets = widgetsWith(exampleModels);
const titles = widgets.map(({ properties }) => properties.title);

/** Metrics as a widget names them: namespace, name, then dimensions and their values. */
const metricsOf = (these: typeof widgets) =>
  these
    .flatMap(({ properties }) => properties.metrics)
    .filter(([namespace]) => typeof namespace === 'string')
    .map(([namespace, name, ...rest]) => {
      const words = rest.filter((word) => typeof word === 'string');
      return { namespace, name, dimensions: words.filter((_, index) => index % 2 === 0), words };
    });
const metrics = metricsOf(widgets);
const routerMetrics = metrics.filter(({ namespace }) => namespace === NAMESPACE);
/** Without a declared quota there is no metric of what is left of one. */
const OF_QUOTAS: string[] = [...SCOPES.quota.metrics];

describe('the dashboard', () => {
  test('the dashboard shows every metric that the router writes', () => {
    const names = new Set(routerMetrics.map(({ name }) => name));
    const shown = METRIC_NAMES.filter((name) => !OF_QUOTAS.includes(name));
    expect([...names].toSorted()).toEqual(shown.toSorted());
  });

  test('what is left of a quota is shown of each target that declares one, mean and lowest', () => {
    const withQuotas = exampleModels.map((model, index) => ({
      ...model,
      targets: model.targets.map((target) =>
        index === 0 ? { ...target, quota: { tpm: 1_000 } } : target,
      ),
    }));
    const shown = metricsOf(widgetsWith(withQuotas)).filter(({ name }) =>
      OF_QUOTAS.includes(String(name)),
    );
    const [first] = exampleModels;
    const upstreams = new Set(first?.targets.map(({ upstream }) => upstream));
    expect(shown).toHaveLength(2 * upstreams.size);
    for (const { words } of shown) {
      expect(words[words.indexOf('Model') + 1]).toBe(first?.id);
      expect(upstreams).toContain(words[words.indexOf('Upstream') + 1]);
    }
  });

  test('the dashboard reads each router metric with the dimensions it is written with', () => {
    const scopes = Object.values(SCOPES);
    const unknown = routerMetrics.filter(
      ({ name, dimensions }) =>
        !scopes.some(
          (scope) =>
            scope.metrics.some((written) => written === name) &&
            scope.dimensions.toSorted().join() === dimensions.toSorted().join(),
        ),
    );
    expect(unknown).toEqual([]);
  });

  test('the dashboard shows p50 and p95 time to first content of every model and upstream', () => {
    for (const { id, targets } of exampleModels) {
      for (const { upstream } of targets) {
        const found = routerMetrics.filter(
          ({ name, words }) =>
            name === 'FirstContentMs' && words.includes(id) && words.includes(upstream),
        );
        expect(found).toHaveLength(2);
      }
    }
  });

  test('the dashboard shows metrics of DynamoDB, Lambda and API Gateway', () => {
    const names = metrics.map(({ namespace, name }) => `${namespace} ${name}`);
    expect(names).toEqual(
      expect.arrayContaining([
        'AWS/DynamoDB SuccessfulRequestLatency',
        'AWS/DynamoDB ThrottledRequests',
        'AWS/Lambda Throttles',
        'AWS/Lambda Errors',
        'AWS/Lambda UrlRequestCount',
        'AWS/ApiGateway Count',
      ]),
    );
  });

  test('the cost graph uses the memory size of the router function', () => {
    const cost = widgets.find(({ properties }) => properties.title === 'Cost of the function');
    expect(JSON.stringify(cost)).toContain('duration/1000*0.25');
  });

  test('the dashboard has log tables by key and request, which are not metric dimensions', () => {
    const names = 'Top keys (names: npm run admin -- usage --by key)';
    expect(titles).toEqual(expect.arrayContaining([names, 'Slowest models', 'Recent 5xx']));
    const dimensions = new Set(routerMetrics.flatMap((metric) => metric.dimensions));
    expect([...dimensions].toSorted()).toEqual(['Model', 'Route', 'Stage', 'Upstream']);
  });

  test('the dashboard starts with the alarms and no widgets overlap', () => {
    expect(widgets[0]).toMatchObject({ type: 'alarm', y: 0 });
    const cells = widgets.flatMap(({ x, y, width, height }) =>
      Array.from(
        { length: width * height },
        (_, index) => `${x + (index % width)},${y + Math.floor(index / width)}`,
      ),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });

  test('docs/dashboard.svg matches the dashboard (DRAW=1 updates it)', () => {
    const drawn = drawDashboard(widgets);
    if (process.env.DRAW === '1') writeFileSync(PICTURE, drawn);
    expect(readFileSync(PICTURE, 'utf8')).toBe(drawn);
  });
});
