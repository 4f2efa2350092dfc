import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { METRIC_NAMES, NAMESPACE, SCOPES } from '../../lambdas/metrics.ts';
import { drawDashboard, widgetsOf } from '../support/dashboard-picture.ts';
import { exampleModels, synthTemplate } from './synth.ts';

const PICTURE = new URL('../../docs/dashboard.svg', import.meta.url);

const [dashboard] = Object.values(
  synthTemplate({}, { models: exampleModels }).findResources('AWS::CloudWatch::Dashboard'),
);
const widgets = widgetsOf(dashboard?.Properties.DashboardBody);
const titles = widgets.map(({ properties }) => properties.title);

/** Metrics as a widget names them: namespace, name, then dimensions and their values. */
const metrics = widgets
  .flatMap(({ properties }) => properties.metrics)
  .filter(([namespace]) => typeof namespace === 'string')
  .map(([namespace, name, ...rest]) => {
    const words = rest.filter((word) => typeof word === 'string');
    return { namespace, name, dimensions: words.filter((_, at) => at % 2 === 0), words };
  });
const own = metrics.filter(({ namespace }) => namespace === NAMESPACE);

describe('the dashboard', () => {
  test('shows every metric that the router writes', () => {
    const shown = new Set(own.map(({ name }) => name));
    expect([...shown].toSorted()).toEqual(METRIC_NAMES.toSorted());
  });

  test('asks for each of them by dimensions that it is written with', () => {
    const scopes = Object.values(SCOPES);
    const unknown = own.filter(
      ({ name, dimensions }) =>
        !scopes.some(
          (scope) =>
            scope.metrics.some((written) => written === name) &&
            scope.dimensions.toSorted().join() === dimensions.toSorted().join(),
        ),
    );
    expect(unknown).toEqual([]);
  });

  test('has the speed of every model at every upstream', () => {
    for (const { id, targets } of exampleModels) {
      for (const { upstream } of targets) {
        const found = own.filter(
          ({ name, words }) =>
            name === 'FirstContentMs' && words.includes(id) && words.includes(upstream),
        );
        expect(found).toHaveLength(2);
      }
    }
  });

  test('shows the counters at DynamoDB and the limits of the platform', () => {
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

  test('reckons the cost from the memory that the function has', () => {
    const cost = widgets.find(({ properties }) => properties.title === 'Cost of the function');
    expect(JSON.stringify(cost)).toContain('duration/1000*0.5');
  });

  test('has tables for what no metric may be split by', () => {
    expect(titles).toEqual(expect.arrayContaining(['Top keys', 'Slowest models', 'Recent 5xx']));
    const dimensions = new Set(own.flatMap((metric) => metric.dimensions));
    expect([...dimensions].toSorted()).toEqual(['Model', 'Route', 'Stage', 'Upstream']);
  });

  test('has the alarms on top, and nothing overlaps', () => {
    expect(widgets[0]).toMatchObject({ type: 'alarm', y: 0 });
    const cells = widgets.flatMap(({ x, y, width, height }) =>
      Array.from(
        { length: width * height },
        (_, at) => `${x + (at % width)},${y + Math.floor(at / width)}`,
      ),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });

  test('looks like its picture in docs/ (DRAW=1 draws it anew)', () => {
    const drawn = drawDashboard(widgets);
    if (process.env.DRAW === '1') writeFileSync(PICTURE, drawn);
    expect(readFileSync(PICTURE, 'utf8')).toBe(drawn);
  });
});
