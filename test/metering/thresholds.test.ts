import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { createEventBus } from '../../lambdas/aws/event-bus.ts';
import type { Caller } from '../../lambdas/keys/authenticate.ts';
import { createMeter } from '../../lambdas/metering/meter.ts';
import { createReport } from '../../lambdas/metering/thresholds.ts';
import { createDynamoNotes } from '../../lambdas/stores/dynamo/notes.ts';
import { createLog } from '../../lambdas/support/log.ts';
import { listen } from '../../local/loopback.ts';
import { startDynamo, storesOn, TABLE_NAMES, type TestDynamo } from '../support/dynamo.ts';
import { MODEL_ON, post, withRouter } from '../support/local.ts';
import { LOCAL_AWS } from '../support/local-aws.ts';
import { parseLine } from '../support/log-line.ts';
import { createManualClock } from '../support/manual-clock.ts';

const START = Date.parse('2026-11-22T10:00:00Z');

const PutEvents = z.strictObject({
  Entries: z.tuple([
    z.strictObject({
      Source: z.literal('model-router'),
      DetailType: z.string(),
      Detail: z.string(),
    }),
  ]),
});
const Detail = z.looseObject({ threshold: z.number(), used: z.number(), quota: z.number() });
type Detail = z.infer<typeof Detail>;

/** EventBridge by its documentation: signed PutEvents of JSON 1.1; a rejected entry is a 200 that counts it. */
const startBus = async () => {
  const events: Detail[] = [];
  let trouble: 'none' | 'rejects' | 'fails' = 'none';
  const server = createServer(async (incoming, response) => {
    const body = PutEvents.parse(await json(incoming));
    expect(incoming.headers['x-amz-target']).toBe('AWSEvents.PutEvents');
    expect(incoming.headers['content-type']).toBe('application/x-amz-json-1.1');
    expect(incoming.headers.authorization).toContain('/events/aws4_request');
    if (trouble === 'fails') return response.writeHead(500).end('{}');
    const failed = trouble === 'rejects' ? 1 : 0;
    const [{ Detail: text, DetailType: type }] = body.Entries;
    expect(type).toBe('Usage threshold reached');
    if (failed === 0) events.push(Detail.parse(JSON.parse(text)));
    return response.end(JSON.stringify({ FailedEntryCount: failed, Entries: [{}] }));
  });
  const { url, close } = await listen(server);
  const set = (next: typeof trouble) => {
    trouble = next;
  };
  return { url, close, events, set };
};

let dynamo: TestDynamo;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(() => dynamo.close());

let callers = 0;
const callerWith = (quota: number): Caller => {
  callers += 1;
  return {
    keyId: `key_${callers}`,
    projectId: 'team',
    meterId: `mtr_${callers}`,
    plan: { id: 'small', rpm: 1_000, quota, period: 'day' },
  };
};

const setUp = async () => {
  const clock = createManualClock(START);
  const bus = await startBus();
  const lines: string[] = [];
  const log = createLog((line) => lines.push(line));
  const { put, destroy } = createEventBus({ ...LOCAL_AWS, endpoint: bus.url, clock });
  onTestFinished(async () => {
    destroy();
    await bus.close();
  });
  const { client } = dynamo;
  const table = createDynamoNotes({ client, tableName: TABLE_NAMES.meters }).thresholds;
  let claims = 0;
  const store: typeof table = {
    ...table,
    claim: (threshold, now) => {
      claims += 1;
      return table.claim(threshold, now);
    },
  };
  /** A process with a memory of its own. */
  const startProcess = () => {
    const report = createReport({
      store,
      budgets: storesOn(client).budgets,
      announce: (event) => put('Usage threshold reached', event),
      clock,
      log,
    });
    return createMeter({ store: storesOn(client).meters, clock, log, report: () => report });
  };
  const processes = [startProcess(), startProcess()] as const;
  return { clock, bus, lines, processes, claims: () => claims };
};

type Process = Awaited<ReturnType<typeof setUp>>['processes'][0];

const use = async (meter: Process, caller: Caller, end: 'charge' | 'refund' = 'charge') => {
  const admission = await meter.admit(caller, `req_${randomBytes(12).toString('hex')}`);
  await admission[end]();
  await admission.finished();
};

const reached = (events: Detail[]): number[] => events.map(({ threshold }) => threshold);

describe('thresholds of usage', () => {
  test('20 concurrent units of a quota of 20 in two processes send one event each at 50, 80 and 100 %', async () => {
    const { bus, processes } = await setUp();
    const caller = callerWith(20);
    await Promise.all(Array.from({ length: 9 }, (_, n) => use(processes[n % 2 ? 0 : 1], caller)));
    expect(bus.events).toEqual([]);
    for (let unit = 10; unit <= 20; unit += 2) {
      await Promise.all(processes.slice(0, unit === 20 ? 1 : 2).map((meter) => use(meter, caller)));
    }
    expect(reached(bus.events)).toEqual([50, 80, 100]);
    const { keyId: key } = caller;
    expect(bus.events[1]).toMatchObject({
      project: 'team',
      key,
      plan: 'small',
      period: '2026-11-22',
      quota: 20,
      resets_at: '2026-11-23T00:00:00Z',
    });
  });

  test('a new period, and a changed quota, have thresholds again, and a stranger none of them', async () => {
    const { bus, clock, processes } = await setUp();
    const [meter] = processes;
    const caller = callerWith(2);
    for (const _ of [1, 2]) await use(meter, caller);
    await use(meter, callerWith(1_000));
    expect(reached(bus.events)).toEqual([50, 100]);
    const raised = { ...caller, plan: { ...caller.plan, quota: 5 } };
    await use(meter, raised);
    await use(meter, raised);
    expect(reached(bus.events)).toEqual([50, 100, 50, 80]);
    clock.advance(86_400_000);
    await use(meter, caller);
    expect(bus.events.at(-1)).toMatchObject({ threshold: 50, period: '2026-11-23' });
  });

  test('a refunded unit announces nothing, and one unit that passes several thresholds the highest', async () => {
    const { bus, processes } = await setUp();
    const caller = callerWith(1);
    await use(processes[0], caller, 'refund');
    expect(bus.events).toEqual([]);
    await use(processes[1], caller);
    expect(reached(bus.events)).toEqual([100]);
  });

  test.each(['rejects', 'fails'] as const)(
    'an event is sent once after a minute in which the bus %s, and no request fails',
    async (trouble) => {
      const { bus, clock, lines, processes } = await setUp();
      const caller = callerWith(20);
      bus.set(trouble);
      for (let unit = 1; unit <= 11; unit += 1) await use(processes[0], caller);
      expect(bus.events).toEqual([]);
      expect(lines.map((line) => parseLine(line).event)).toEqual(['usage_threshold_failed']);
      bus.set('none');
      await use(processes[1], caller);
      expect(bus.events).toEqual([]);
      clock.advance(61_000);
      for (const meter of processes) await use(meter, caller);
      expect(reached(bus.events)).toEqual([50]);
    },
  );

  test('units over a threshold cost each process one write a minute until its event is sent, and none afterwards', async () => {
    const { bus, clock, processes, claims } = await setUp();
    const [one, other] = processes;
    const caller = callerWith(20);
    const useUnits = async (meter: Process, units: number) => {
      for (let unit = 0; unit < units; unit += 1) await use(meter, caller);
    };
    bus.set('fails');
    await useUnits(one, 11);
    expect(claims()).toBe(1);
    bus.set('none');
    clock.advance(61_000);
    await useUnits(one, 1);
    expect(claims()).toBe(2);
    await useUnits(other, 1);
    expect(claims()).toBe(3);
    clock.advance(61_000);
    for (const meter of processes) await useUnits(meter, 1);
    expect(claims()).toBe(3);
    expect(reached(bus.events)).toEqual([50]);
  });

  test('the local run writes a line for each threshold, once', async () => {
    const lines: string[] = [];
    const log = createLog((line) => lines.push(line));
    await withRouter({ log, plan: { quota: 4 } }, async (router) => {
      const messages = [{ role: 'user', content: 'say hi' }];
      for (const _ of [1, 2, 3, 4, 5]) {
        await (
          await post(router, '/v1/chat/completions', { model: MODEL_ON.chat, messages })
        ).text();
      }
    });
    const events = lines.map(parseLine).filter(({ event }) => event === 'usage_threshold');
    expect(events.map(({ threshold }) => threshold)).toEqual([50, 100]);
  });
});
