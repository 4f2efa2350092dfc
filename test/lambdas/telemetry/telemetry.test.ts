import { describe, expect, test } from 'vitest';
import models from '../../../lambdas/catalog/models.json' with { type: 'json' };
import {
  countSeries,
  DEFAULT_MAX_SERIES,
  labelsOf,
  OTHER,
  routeSeries,
} from '../../../lambdas/metrics.ts';
import { ROUTES } from '../../../lambdas/routes.ts';
import type { Log } from '../../../lambdas/support/log.ts';
import { createTelemetry } from '../../../lambdas/telemetry/create-telemetry.ts';
import type { LocalOptions, LocalRouter } from '../../../local/start.ts';
import { MODEL_ON, post, withRouter } from '../../support/local.ts';
import { linesIn, parseLine } from '../../support/log-line.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { createRecordedTelemetry } from '../../support/recorded-telemetry.ts';

const CHAT = '/v1/chat/completions';
const REQUEST = { requestId: 'req_12345678', method: 'POST', route: CHAT, ms: 1 };

/** What a router of its own has counted and logged after `use`. */
const countedAfter = async (
  use: (router: LocalRouter, lines: readonly string[]) => Promise<unknown>,
  options: LocalOptions = {},
): Promise<{ series: Record<string, number>; lines: string[]; key: string }> => {
  const { log, lines, series } = createRecordedTelemetry();
  return withRouter({ log, ...options }, async (router) => {
    await use(router, lines);
    return { series: series(), lines, key: router.key };
  });
};

const ask = async (
  router: LocalRouter,
  body: Record<string, unknown> = {},
  signal?: AbortSignal,
): Promise<number> => {
  const question = {
    model: MODEL_ON.chat,
    messages: [{ role: 'user', content: 'hello' }],
    ...body,
  };
  const response = await post(router, CHAT, question, { ...(signal && { signal }) });
  await response.text();
  return response.status;
};

const target = (upstream: string) => `Stage=test Model=${MODEL_ON.chat} Upstream=${upstream}`;

describe('a request', () => {
  test('a streamed request is counted by route, model and upstream when its stream has ended', async () => {
    const { series } = await countedAfter((router) => ask(router, { stream: true }));
    expect(series).toEqual({
      'Requests{Stage=test}': 1,
      [`Requests{Stage=test Route=${CHAT}}`]: 1,
      [`InputTokens{Stage=test Model=${MODEL_ON.chat}}`]: expect.any(Number),
      [`OutputTokens{Stage=test Model=${MODEL_ON.chat}}`]: expect.any(Number),
      [`FirstContentMs{${target('aurora')}}`]: expect.any(Number),
      [`DurationMs{${target('aurora')}}`]: expect.any(Number),
      [`TokenEstimateError{Stage=test Model=${MODEL_ON.chat}}`]: expect.any(Number),
    });
  });

  test('the estimates of the first 60 requests of a model within a minute are compared, that of the 61st is not', async () => {
    const { lines } = await countedAfter(
      async (router) => {
        for (let sent = 0; sent < 61; sent += 1) await ask(router);
      },
      { clock: createManualClock(1_000_000) },
    );
    const compared = lines
      .filter((line) => line.includes('"_aws"'))
      .map((line) => line.includes('"TokenEstimateError":'));
    expect(compared).toEqual([...Array(60).fill(true), false]);
  });

  test('metrics contain no key and no prompt', async () => {
    const { lines, key, series } = await countedAfter((router) =>
      ask(router, { messages: [{ role: 'user', content: 'canary' }] }),
    );
    expect(lines.filter((line) => line.includes('"_aws"'))).toHaveLength(1);
    expect(lines.join()).not.toContain(key);
    expect(lines.join()).not.toContain('canary');
    expect(Object.keys(series).join()).not.toMatch(/key_|local/);
  });

  test('a request that another target answered counts a failover and an error of the first', async () => {
    const { series } = await countedAfter((router) => {
      router.upstreams.inject({ fault: { kind: 'status', status: 500 }, protocol: 'chat' });
      return ask(router);
    });
    expect(series).toMatchObject({
      'Failovers{Stage=test}': 1,
      [`UpstreamErrors{${target('aurora')}}`]: 1,
      [`DurationMs{${target('borealis')}}`]: expect.any(Number),
    });
    expect(series).not.toHaveProperty('NoHealthyTarget{Stage=test}');
    expect(series).not.toHaveProperty(`UpstreamErrors{${target('borealis')}}`);
  });

  test('a request that another target answered is not logged as exhausted', async () => {
    const { lines } = await countedAfter((router) => {
      router.upstreams.inject({ fault: { kind: 'status', status: 500 }, protocol: 'chat' });
      return ask(router);
    });
    const line = lines.map(parseLine).find(({ event }) => event === 'request');
    expect(line).toMatchObject({ status: 200, upstream: 'borealis', failedAttempts: 1 });
    expect(line).not.toHaveProperty('exhausted');
    expect(line).not.toHaveProperty('fault');
  });

  test.each([
    [{}, 'Status5xx{Stage=test}'],
    [{ stream: true }, 'Status5xx{Stage=test}'],
  ])(
    'a request that no target answered counts once per stage, route and model: %j',
    async (body, series5xx) => {
      const { series } = await countedAfter((router) => {
        router.upstreams.inject({ fault: { kind: 'status', status: 401 } });
        return ask(router, body);
      });
      expect(series).toMatchObject({
        [series5xx]: 1,
        [`Status5xx{Stage=test Route=${CHAT}}`]: 1,
        'NoHealthyTarget{Stage=test}': 1,
        [`NoHealthyTarget{Stage=test Model=${MODEL_ON.chat}}`]: 1,
        'UpstreamCredentialRefused{Stage=test}': 2,
        'Failed{Stage=test}': 1,
      });
      expect(series).not.toHaveProperty('Failovers{Stage=test}');
    },
  );

  test('a request whose upstream breaks off in mid-stream counts a failed stream and an error', async () => {
    const { series } = await countedAfter((router) => {
      router.upstreams.inject({ fault: { kind: 'truncate', after: 4 } });
      return ask(router, { stream: true });
    });
    expect(series).toMatchObject({
      'StreamsFailed{Stage=test}': 1,
      [`UpstreamErrors{${target('aurora')}}`]: 1,
    });
    expect(series).not.toHaveProperty('Status5xx{Stage=test}');
    expect(series).not.toHaveProperty('NoHealthyTarget{Stage=test}');
  });

  test.each([{ stream: true }, {}])(
    'a client that disconnects before the response counts no error of the upstream or the router: %j',
    async (body) => {
      const { series } = await countedAfter(async (router, lines) => {
        router.upstreams.inject({ fault: { kind: 'stall' } });
        const left = new AbortController();
        const asked = ask(router, body, left.signal).catch(() => undefined);
        await expect.poll(() => router.upstreams.calls.length).toBe(1);
        left.abort();
        await asked;
        await expect.poll(() => router.upstreams.calls[0]?.outcome).toBe('abandoned');
        // Its access line follows the abandoned call: the counts are written with the next line.
        const logged = () => lines.filter((line) => parseLine(line).event === 'request').length;
        await expect.poll(logged).toBe(1);
        await post(router, '/v1/nothing', {});
        await expect.poll(logged).toBe(2);
      });
      expect(series).toMatchObject({
        'Requests{Stage=test}': 2,
        [`Status4xx{Stage=test Route=${CHAT}}`]: 1,
        ...('stream' in body && { 'StreamsAbandoned{Stage=test}': 1 }),
      });
      expect(Object.keys(series).join()).not.toMatch(/Error|5xx|Failed|NoHealthy/);
    },
  );

  test.each([{ stream: true }, {}])(
    'a request while all breakers are open counts as one without a healthy target: %j',
    async (body) => {
      const { series } = await countedAfter(async (router) => {
        router.upstreams.inject({ fault: { kind: 'status', status: 401 } });
        await ask(router, body);
        await ask(router, body);
      });
      expect(series).toMatchObject({ 'NoHealthyTarget{Stage=test}': 2 });
      expect(series).not.toHaveProperty('StreamsFailed{Stage=test}');
    },
  );

  test('a rejected or denied request is counted by its status', async () => {
    const plan = { rpm: 1 };
    const { series } = await countedAfter(
      async (router) => {
        await post(router, '/v1/nothing', {});
        await post(router, CHAT, {}, { key: 'wrong' });
        await ask(router);
        await ask(router);
      },
      { plan },
    );
    expect(series).toMatchObject({
      'Status4xx{Stage=test Route=other}': 1,
      [`Status4xx{Stage=test Route=${CHAT}}`]: 2,
      'Status401{Stage=test}': 1,
      'Status429{Stage=test}': 1,
      'Requests{Stage=test}': 4,
    });
  });
});

test('the facts of a request and the metrics that it counts are one line, its facts first', () => {
  const writes: string[] = [];
  const log = createTelemetry({
    ...{ stage: 'test', labels: [], clock: createManualClock(1_000_000) },
    write: (text) => writes.push(text),
  });
  log.info('request', { ...REQUEST, status: 200 });
  const [line = '{}', ...others] = writes.flatMap(linesIn);
  expect(others).toEqual([]);
  const facts = { level: 'info', event: 'request', ...REQUEST, status: 200 };
  expect(Object.entries(JSON.parse(line)).slice(0, 7)).toEqual(Object.entries(facts));
  expect(JSON.parse(line)).toMatchObject({
    Requests: 1,
    _aws: { CloudWatchMetrics: [{ Dimensions: [['Stage'], ['Stage', 'Route']] }] },
  });
});

test('counts of skipped lines are added to the next line with their labels, or follow one with others', () => {
  const clock = createManualClock(1_000_000);
  const { log, lines, series } = createRecordedTelemetry({ clock });
  const deny = (times: number) => {
    for (let at = 0; at < times; at += 1) log.info('request', { ...REQUEST, status: 429 });
  };
  deny(15);
  const last = () => JSON.parse(lines.at(-1) ?? '{}');
  log.info('request', { ...REQUEST, status: 200 });
  expect(last()).toMatchObject({ status: 200, Requests: 6, Status429: 5 });
  deny(5);
  log.info('request', { ...REQUEST, route: '/v1/messages', status: 200 });
  expect(last()).toMatchObject({ Route: CHAT, Requests: 5 });
  expect(last()).not.toHaveProperty('event');
  expect(lines).toHaveLength(10 + 1 + 2);
  expect(series()).toMatchObject({ 'Requests{Stage=test}': 22, 'Status429{Stage=test}': 20 });
});

test('what counts nothing makes no metric', () => {
  const { log, lines } = createRecordedTelemetry();
  log.warn('breaker_unreadable', { target: 'aurora/scribe-1' });
  expect(lines).toHaveLength(1);
});

describe('a flood of refusals', () => {
  const refuse = (log: Log, times: number, status = 401) => {
    for (let at = 0; at < times; at += 1) log.info('request', { ...REQUEST, status });
  };
  const requestLines = (lines: string[]) => lines.filter((line) => line.includes('"request"'));

  test('a flood of 401s writes ten lines a minute and one in a hundred, and counts every request', () => {
    const clock = createManualClock(1_000_000);
    const { log, lines, series } = createRecordedTelemetry({ clock });
    refuse(log, 1_050);
    expect(requestLines(lines)).toHaveLength(10 + 10);
    clock.advance(60_000);
    refuse(log, 5, 429);
    expect(requestLines(lines)).toHaveLength(25);
    expect(series()).toMatchObject({
      'Requests{Stage=test}': 1_055,
      'Status401{Stage=test}': 1_050,
      'Status429{Stage=test}': 5,
    });
  });

  test('a flood of 401s hides no line of another request, which reports the counts', () => {
    const clock = createManualClock(1_000_000);
    const { log, lines, series } = createRecordedTelemetry({ clock });
    refuse(log, 50);
    log.info('request', { ...REQUEST, status: 402 });
    expect(requestLines(lines)).toHaveLength(11);
    expect(series()).toMatchObject({
      'Status401{Stage=test}': 50,
      'Status402{Stage=test}': 1,
    });
  });
});

test('POST routes that cost a unit have metric series, other routes are counted as "other"', () => {
  expect(routeSeries()).toEqual(['/v1/chat/completions', '/v1/messages', '/v1/responses', OTHER]);
  expect(routeSeries()).toEqual([
    ...ROUTES.filter(
      (row) => 'endpoint' in row && ['generate', 'respond'].includes(row.endpoint),
    ).map(({ pattern }) => pattern),
    OTHER,
  ]);
});

describe('the labels of a catalog', () => {
  const budgetOf = (labels: ReturnType<typeof labelsOf>) =>
    `maxSeries is ${DEFAULT_MAX_SERIES}, these labels make ${countSeries(labels)} series; see ` +
    'SCOPES (metrics.ts) and `series` (routes.ts)';
  const catalogOf = (count: number) =>
    Array.from({ length: count }, (_, at) => ({
      id: `vendor/m-${at}`,
      targets: [{ upstream: 'one' }, { upstream: 'two' }, { upstream: 'two' }],
    }));

  const ids = models.map(({ id }) => id);

  test('name every model of the shipped catalog within the metric budget', () => {
    const labels = labelsOf(models, DEFAULT_MAX_SERIES);
    expect(
      labels.map(({ model }) => model),
      budgetOf(labels),
    ).toEqual(ids);
  });

  test('stay the same with one more keyed route', () => {
    const routes = [...ROUTES, { method: 'GET', pattern: '/v1/ping', endpoint: 'ping' } as const];
    const labels = labelsOf(models, DEFAULT_MAX_SERIES, routes);
    expect(labels, budgetOf(labels)).toEqual(labelsOf(models, DEFAULT_MAX_SERIES));
  });

  test('name all of 4 models with 2 upstreams each within 80 series', () => {
    const labels = labelsOf(catalogOf(4), DEFAULT_MAX_SERIES);
    expect(
      labels.map(({ model }) => model),
      budgetOf(labels),
    ).not.toContain(OTHER);
  });

  test.each([1, 3, 5, 40])('labels of %i models make at most 60 series', (count) => {
    const labels = labelsOf(catalogOf(count), 60);
    expect(countSeries(labels), budgetOf(labels)).toBeLessThanOrEqual(60);
    expect(labels[0]?.model).toBe('vendor/m-0');
  });

  test('name all of 40 models if maxSeries allows it', () => {
    const labels = labelsOf(catalogOf(40), 1_000);
    expect(labels).toHaveLength(40);
  });

  test('put what is over the budget together as "other"', () => {
    const { log, series } = createRecordedTelemetry({
      labels: labelsOf(catalogOf(40), DEFAULT_MAX_SERIES),
    });
    const answered = { model: 'vendor/m-39', upstream: 'one', ms: 7 };
    log.info('request', { ...REQUEST, status: 200, ...answered });
    expect(series()).toMatchObject({
      'DurationMs{Stage=test Model=other Upstream=other}': 7,
    });
  });
});
