import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { Model } from '../../../lambdas/catalog/catalog.ts';
import { parseModels } from '../../../lambdas/catalog/parse-models.ts';
import type { LocalRouter } from '../../../local/start.ts';
import { synthTemplate } from '../../lib/synth.ts';
import { createAlarmStates, type DataPoint } from '../../support/alarm-states.ts';
import { post, useRouter, withRouter } from '../../support/local.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { modelOn, targetAt } from '../../support/models.ts';

const BEFORE = Date.parse('2026-11-24T12:00:00Z');
const LAST_INSTANT = Date.parse('2026-12-10T23:59:59.999Z');
const DAY = 86_400_000;
const RETIRED = Date.parse('2026-12-11T00:00:00Z');

const dated = (id: string, more: Partial<Model> = {}) =>
  modelOn([targetAt('https://a.test', { protocol: 'messages' })], { id, ...more });

const CATALOG = [
  dated('vendor/new'),
  dated('vendor/old', {
    ...{ aliases: ['old-alias'], retires: '2026-12-11', deprecated: '2026-06-11' },
    successor: 'vendor/new',
  }),
  dated('vendor/moved', {
    ...{ retires: '2026-12-11', successor: 'vendor/between', afterwards: 'successor' },
  }),
  dated('vendor/between', {
    ...{ retires: '2027-01-31', successor: 'vendor/new', afterwards: 'successor' },
  }),
  dated('vendor/lone', { retires: '2026-12-11' }),
  dated('vendor/unknown', { retires: '2027-12-11', successor: 'vendor/absent' }),
];

const clock = createManualClock(BEFORE);
const router = useRouter({ catalog: CATALOG, clock });
let key = '';
/** Meters do not go back in time: each instant has a key with a new one. */
const at = async (instant: number, plan = {}) => {
  clock.set(instant);
  key = await router().createKey({ plan });
};

const FAMILIES = {
  chat: ['/v1/chat/completions', { max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }],
  messages: ['/v1/messages', { max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }],
  responses: ['/v1/responses', { input: 'hi' }],
} as const;
const names = Object.keys(FAMILIES) as (keyof typeof FAMILIES)[];

const Reply = z.looseObject({
  model: z.string().optional(),
  error: z.looseObject({ message: z.string() }).nullish(),
});

const ask = async (family: keyof typeof FAMILIES, model: string, more: object = {}) => {
  const [path, body] = FAMILIES[family];
  const response = await post(router(), path, { ...body, model, ...more }, { key });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text };
};
const bodyOf = ({ text }: { text: string }) => Reply.parse(JSON.parse(text));

const get = async (path: string) => {
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${router().baseUrl}${path}`, { headers });
  const body = z.looseObject({}).parse(await response.json());
  return { status: response.status, headers: response.headers, body };
};
const listed = async () => {
  const { body } = await get('/v1/models');
  return z.array(z.looseObject({ id: z.string() })).parse(body.data);
};

const DEPRECATED_IN_JUNE = `@${Date.parse('2026-06-11') / 1_000}`;
const SUNSET = 'Fri, 11 Dec 2026 00:00:00 GMT';

describe('a model with a date of retirement', () => {
  test.each(names)(
    'a model with a date answers on %s until its day, with the dates in headers',
    async (family) => {
      for (const instant of [BEFORE, LAST_INSTANT]) {
        await at(instant);
        for (const [more, form] of [
          [{}, 'json'],
          [{ stream: true }, 'event-stream'],
        ] as const) {
          const { status, headers } = await ask(family, 'old-alias', more);
          expect([status, headers.get('content-type')]).toEqual([
            200,
            expect.stringContaining(form),
          ]);
          expect(headers.get('deprecation')).toBe(DEPRECATED_IN_JUNE);
          expect(headers.get('sunset')).toBe(SUNSET);
          expect(headers.get('x-router-model')).toBeNull();
        }
      }
    },
  );

  test('a model without a date of deprecation has that of its retirement', async () => {
    await at(BEFORE);
    const { headers } = await ask('chat', 'vendor/lone');
    expect(headers.get('deprecation')).toBe(`@${RETIRED / 1_000}`);
    expect(headers.get('sunset')).toBe(SUNSET);
  });

  test('a denied request for a model with a date has the dates too', async () => {
    await at(BEFORE, { rpm: 1 });
    await ask('chat', 'vendor/old');
    const { status, headers } = await ask('chat', 'vendor/old');
    expect([status, headers.get('sunset')]).toEqual([429, SUNSET]);
    await at(BEFORE, { require: { region: ['eu'] } });
    const unmet = await ask('chat', 'vendor/old');
    expect([unmet.status, unmet.headers.get('sunset')]).toEqual([400, SUNSET]);
    expect(unmet.headers.get('deprecation')).toBe(DEPRECATED_IN_JUNE);
    expect(unmet.text).toContain('policy_not_met');
  });

  test.each(names)(
    'a retired model gets 400 on %s from its day on, which names the successor',
    async (family) => {
      await at(RETIRED);
      for (const name of ['vendor/old', 'old-alias', 'proxy/vendor/old']) {
        const reply = await ask(family, name);
        expect(reply.status).toBe(400);
        expect(bodyOf(reply).error?.message).toContain(
          "The model 'vendor/old' was retired on 2026-12-11. Use 'vendor/new' instead.",
        );
        expect(bodyOf(reply).error?.message).not.toContain('vendor/lone');
        expect(reply.headers.get('sunset')).toBe(SUNSET);
      }
      const lone = await ask(family, 'vendor/lone');
      expect(bodyOf(lone).error?.message).toContain('was retired on 2026-12-11. ');
    },
  );

  test('a request for a retired model costs no unit', async () => {
    await at(RETIRED);
    const used = async () => (await get('/v1/usage')).body.period;
    const before = await used();
    await ask('chat', 'vendor/old');
    expect(await used()).toEqual(before);
  });

  test.each(names)(
    'a request for a retired model is answered on %s by its successor where the catalog says so',
    async (family) => {
      const seen: unknown[] = [];
      for (const day of ['2026-12-10', '2026-12-11', '2027-01-31']) {
        await at(Date.parse(day));
        const reply = await ask(family, 'vendor/moved');
        seen.push([reply.status, bodyOf(reply).model, reply.headers.get('x-router-model')]);
        expect(reply.headers.get('sunset')).toBe(SUNSET);
      }
      expect(seen).toEqual([
        [200, 'vendor/moved', null],
        [200, 'vendor/between', 'vendor/between'],
        [200, 'vendor/new', 'vendor/new'],
      ]);
    },
  );

  test('a plan that has only the retired model gets the response of its successor', async () => {
    await at(RETIRED, { models: ['vendor/moved'] });
    expect((await ask('chat', 'vendor/moved')).status).toBe(200);
    expect((await ask('chat', 'vendor/between')).status).toBe(400);
  });

  test('a count has the dates, and after the day only a successor counts', async () => {
    const body = { messages: [{ role: 'user', content: 'hi' }] };
    const count = (model: string) =>
      post(router(), '/v1/messages/count_tokens', { ...body, model }, { key });
    await at(BEFORE);
    expect((await count('vendor/old')).headers.get('sunset')).toBe(SUNSET);
    await at(RETIRED);
    expect((await count('vendor/old')).status).toBe(400);
    expect((await count('vendor/moved')).headers.get('x-router-model')).toBe('vendor/between');
  });

  test('a model with a date is listed with its dates in the words of both families, until its day', async () => {
    await at(BEFORE);
    const old = (await listed()).find(({ id }) => id === 'vendor/old');
    expect(old).toMatchObject({
      ...{ shutdown_date: '2026-12-11', successor: 'vendor/new', lifecycle: 'deprecated' },
      retires_at: '2026-12-11T00:00:00.000Z',
      deprecated_at: '2026-06-11T00:00:00.000Z',
    });
    const one = await get('/v1/models/vendor%2Fold');
    expect(one.body).toEqual(old);
    expect(one.headers.get('sunset')).toBe(SUNSET);
    await at(RETIRED);
    expect((await listed()).map(({ id }) => id)).toEqual([
      ...['vendor/new', 'vendor/between', 'vendor/unknown'],
    ]);
    expect(await get('/v1/models/vendor/old')).toMatchObject({
      status: 404,
      body: { error: { message: expect.stringContaining("Use 'vendor/new' instead.") } },
    });
    expect((await get('/v1/models/vendor/moved')).body).toMatchObject({ id: 'vendor/between' });
  });
});

test('a model without dates has no member and no header of them', async () => {
  await at(BEFORE);
  const { headers } = await ask('chat', 'vendor/new');
  const [first] = await listed();
  for (const name of ['deprecation', 'sunset', 'x-router-model']) {
    expect(headers.get(name)).toBeNull();
  }
  expect(
    Object.keys(first ?? {}).filter((name) => /retire|deprec|succ|life|shut/.test(name)),
  ).toEqual([]);
});

const Checks = z.object({
  checks: z.array(z.looseObject({ check: z.string(), reason: z.string().optional() })),
});

const doctor = async ({ baseUrl }: LocalRouter) => {
  const { checks } = Checks.parse(await (await fetch(`${baseUrl}/admin/checks`)).json());
  return checks.filter(({ check }) => check === 'retirement');
};

describe('the doctor and the list of targets', () => {
  test('both name what is retired or will be, and how many keys have used it in a week', async () => {
    const later = createManualClock(RETIRED - 31 * DAY);
    await withRouter({ catalog: CATALOG, clock: later }, async (router) => {
      const [path, body] = FAMILIES.chat;
      for (const one of [await router.createKey(), await router.createKey()]) {
        await (await post(router, path, { ...body, model: 'vendor/lone' }, { key: one })).text();
      }
      const found = async () =>
        (await doctor(router)).map(({ place, result, reason }) => [place, result, reason]);
      const placeOf = (index: number, member = 'retires') => `[${index}].${member}`;
      const contains = (text: string) => expect.stringContaining(text);
      expect(await found()).toEqual([
        [placeOf(1), 'warning', contains('in 31 days; then requests for it get 400.')],
        [placeOf(2), 'warning', contains('then its successor answers for it.')],
        [placeOf(3), 'warning', contains('in 82 days')],
        [placeOf(4), 'warning', contains('2 keys used it in the last 7 days.')],
        [placeOf(4, 'successor'), 'warning', contains('errors name no model')],
        [undefined, 'ok', contains('in 396 days')],
        [placeOf(5, 'successor'), 'warning', contains("has no model 'vendor/absent'")],
      ]);
      const { data } = z
        .object({ data: z.array(z.looseObject({ model: z.string() })) })
        .parse(await (await fetch(`${router.baseUrl}/admin/targets`)).json());
      expect(data.find(({ model }) => model === 'vendor/lone')).toMatchObject({
        ...{ retires: '2026-12-11', successor: null, keys_using: 2 },
      });
      expect(data.find(({ model }) => model === 'vendor/new')).not.toHaveProperty('retires');

      later.set(RETIRED - 30 * DAY);
      expect((await found())[3]).toEqual([placeOf(4), 'failed', contains('in 30 days')]);
      expect((await found())[1]).toEqual([placeOf(2), 'warning', contains('in 30 days')]);
      later.set(RETIRED);
      expect((await found())[0]).toEqual([
        placeOf(1),
        'failed',
        contains('requests for it get 400'),
      ]);
      expect((await found())[1]).toEqual([placeOf(2), 'warning', contains('Remove it')]);
    });
  });
});

describe('a catalog with dates', () => {
  test.each([
    ['a successor without a date', 'successor', { successor: 'vendor/new' }, 'needs `retires`'],
    ['a day that does not exist', 'retires', { retires: '2026-02-30' }, 'must be a day'],
    [
      'a deprecation after the retirement',
      'deprecated',
      { retires: '2026-12-11', deprecated: '2026-12-12' },
      'must not be after',
    ],
    [
      'an alias to a model that the catalog does not have',
      'afterwards',
      { retires: '2026-12-11', successor: 'vendor/absent', afterwards: 'successor' },
      'needs a `successor` of the catalog',
    ],
    [
      'itself as its successor',
      'successor',
      { retires: '2026-12-11', successor: 'vendor/x' },
      'retired later',
    ],
    [
      'a successor that is retired on the same day',
      'successor',
      { retires: '2026-12-11', successor: 'vendor/old' },
      'retired later',
    ],
  ])('a catalog is rejected with %s', (_, member, members, words) => {
    const models = [...CATALOG.slice(0, 2), dated('vendor/x', members as Partial<Model>)];
    expect(() => parseModels(models)).toThrow(
      new RegExp(`${words}[^\\n]*\\n[^\\n]*at \\[2\\]\\.${member}`, 'm'),
    );
  });
});

describe('the alarm before a retirement', () => {
  /** A run of the history each hour, which is all that the alarm's metric needs. */
  const runs = (from: number, to: number): DataPoint[] =>
    Array.from({ length: (to - from) / 3_600_000 }, (_, hour) => ({
      ...{ series: 'ModelRouter HistoryRuns Stage=prod', value: 1 },
      at: from + hour * 3_600_000,
    }));
  const template = synthTemplate({ stage: 'prod' }, { models: CATALOG });
  const states = createAlarmStates(template);
  const id = 'model-retiring-2026-12-11';

  test.each([true, false])(
    'an alarm fires 30 days before the day and ends on it (fills %s)',
    (fillsEmpty) => {
      const inAlarm = (days: number) => {
        const [from, to] = [RETIRED + (days - 2) * DAY, RETIRED + days * DAY];
        const unpublished = [{ extraPeriods: 2, fillsEmpty }];
        return states.run(runs(from, to), [from, to], unpublished)[0]?.inAlarm.includes(id);
      };
      expect([-31, -30, -29, -1, 0].map(inAlarm)).toEqual([false, false, true, true, true]);
      expect(inAlarm(1)).toBe(false);
    },
  );

  test('an alarm exists for each day, and for no catalog without dates', () => {
    const retiring = (ids: string[]) => ids.filter((one) => one.startsWith('model-retiring'));
    expect(retiring(states.ids)).toEqual([
      ...[id, 'model-retiring-2027-01-31', 'model-retiring-2027-12-11'],
    ]);
    expect(retiring(createAlarmStates(synthTemplate({ stage: 'prod' })).ids)).toEqual([]);
  });
});
