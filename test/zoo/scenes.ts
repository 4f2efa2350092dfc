import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { asArray, asRecord } from '../../lambdas/protocols/bytes/json.ts';
import type { Plan } from '../../lambdas/stores/plan-store.ts';
import type { Received, Script } from '../support/strict-upstream/server.ts';
import type { Meant } from '../support/strict-upstream/wire-response.ts';
import type { Operation, Report } from './client.ts';

/** What the router and the upstream saw while a scene was played. */
export type Seen = {
  report: Report;
  /** Requests as the upstream received them. */
  received: Received[];
  /** Access-log lines of the scene's key, up to now. */
  lines(): { status?: number | undefined; outcome?: string | undefined }[];
};

/** One thing that people do with a client, and what must come of it. */
export type Scene = {
  /** The column of the table. */
  name: string;
  operation: Operation;
  prompt: string;
  plan?: Partial<Plan>;
  /** Instead of the key and the model of the table. */
  key?: string;
  model?: string;
  cancel?: boolean;
  /** Another request of the same key is in flight until this one was refused once. */
  busy?: boolean;
  answer?(received: Received): Script;
  /** A remark for the table instead of the tick. @throws AssertionError */
  check(seen: Seen): string | undefined | Promise<string | undefined>;
};

const USAGE = { input: 25, cached: 0, output: 9 };
const WORDS = 'One two three four five six seven eight nine ten.';

const script = (meant: Partial<Meant>, received: Received, more: Partial<Script> = {}): Script => {
  const isWhole = asRecord(received.body)?.stream !== true;
  const form = { isWhole, isAscii: false, units: [5] };
  const calls = meant.calls ?? [];
  const finish = calls.length > 0 ? 'tool-calls' : 'stop';
  return {
    meant: { text: '', calls, finish, usage: USAGE, ...meant },
    form,
    sizes: [4096],
    ...more,
  };
};

const says =
  (text: string, more: Partial<Script> = {}) =>
  (received: Received): Script =>
    script({ text }, received, more);

/** Pieces that leave a few milliseconds apart. */
const IN_PIECES = { sizes: [200], pauseMs: 2 };

const weatherIn = (city: string, index: number) => ({
  id: `call_${index}${city}`,
  name: 'get_weather',
  arguments: JSON.stringify({ city }),
});

const hasToolResult = ({ body }: Received): boolean => {
  const last = asRecord(asArray(asRecord(body)?.messages).at(-1));
  if (last?.role === 'tool') return true;
  return asArray(last?.content).some((block) => asRecord(block)?.type === 'tool_result');
};

const callsWeather =
  (...cities: string[]) =>
  (received: Received): Script =>
    hasToolResult(received)
      ? script({ text: `It is 7 degrees in ${cities.join(' and ')}.` }, received)
      : script({ calls: cities.map(weatherIn) }, received);

const PLACE = '{"city":"Oslo","people":709037}';

/** Libraries ask for an object by a schema or by a tool that takes it. */
const answersPlace = (received: Received): Script => {
  const tool = asRecord(asArray(asRecord(received.body)?.tools)[0]);
  const name = tool?.name ?? asRecord(tool?.function)?.name;
  if (name === undefined) return script({ text: PLACE }, received);
  return script({ calls: [{ id: 'call_place', name: String(name), arguments: PLACE }] }, received);
};

/** The first bytes of a PNG in base64: an image that reached the upstream whole holds them. */
const PNG = 'iVBORw0KGgo';

const answersImage = (received: Received): Script =>
  says(JSON.stringify(received.body).includes(PNG) ? 'A red dot.' : 'No image.')(received);

const succeeded = ({ report, received }: Seen) => {
  assert.equal(report.error, undefined);
  assert.deepEqual(
    received.flatMap(({ rejections }) => rejections),
    [],
  );
};

const failedWith =
  (status: number, words: RegExp) =>
  ({ report, lines }: Seen): string | undefined => {
    assert.ok(report.error, `no error but ${JSON.stringify(report)}`);
    assert.deepEqual([...new Set(lines().map((line) => line.status))], [status]);
    const isTold = words.test(report.error.message) || report.error.status === status;
    assert.ok(isTold, `the error says neither ${status} nor ${words}: ${report.error.message}`);
    return undefined;
  };

const until = async (holds: () => boolean, what: string) => {
  for (let waited = 0; !holds(); waited += 50) {
    assert.ok(waited < 5_000, what);
    await setTimeout(50);
  }
};

const toolLoop =
  (...cities: string[]) =>
  (seen: Seen): string | undefined => {
    succeeded(seen);
    const called = [...(seen.report.called ?? [])].sort();
    assert.deepEqual(called, cities.map((city) => `get_weather(${city})`).sort());
    assert.match(seen.report.text ?? '', /It is 7 degrees in/);
    return undefined;
  };

export const SCENES: Scene[] = [
  {
    name: 'models',
    operation: 'list',
    prompt: '',
    check: ({ report }) => {
      assert.equal(report.error, undefined);
      assert.deepEqual([...(report.models ?? [])].sort(), ['zoo/chat', 'zoo/messages']);
      return undefined;
    },
  },
  {
    name: 'whole',
    operation: 'ask',
    prompt: 'Count to ten.',
    answer: says(WORDS),
    check: (seen) => {
      succeeded(seen);
      assert.equal(seen.report.text, WORDS);
      return undefined;
    },
  },
  {
    name: 'stream',
    operation: 'stream',
    prompt: 'Count to ten.',
    answer: says(WORDS, IN_PIECES),
    check: (seen) => {
      succeeded(seen);
      assert.equal(seen.report.text, WORDS);
      assert.ok(Number(seen.report.pieces) > 1, `${seen.report.pieces} pieces`);
      return undefined;
    },
  },
  {
    name: 'tool',
    operation: 'tools',
    prompt: 'What is the weather in Oslo?',
    answer: callsWeather('Oslo'),
    check: toolLoop('Oslo'),
  },
  {
    name: 'parallel tools',
    operation: 'tools',
    prompt: 'What is the weather in Oslo and in Rome?',
    answer: callsWeather('Oslo', 'Rome'),
    check: toolLoop('Oslo', 'Rome'),
  },
  {
    name: 'structured',
    operation: 'structured',
    prompt: 'Where do you live? Answer in JSON.',
    answer: answersPlace,
    check: (seen) => {
      succeeded(seen);
      assert.deepEqual(seen.report.value, JSON.parse(PLACE));
      return undefined;
    },
  },
  {
    name: 'image',
    operation: 'image',
    prompt: 'What is this?',
    answer: answersImage,
    check: (seen) => {
      succeeded(seen);
      assert.equal(seen.report.text, 'A red dot.');
      return undefined;
    },
  },
  {
    name: '401',
    operation: 'ask',
    prompt: 'Count to ten.',
    key: `mrk_live_${'0'.repeat(38)}`,
    check: ({ report }) => {
      assert.ok(report.error, `no error but ${JSON.stringify(report)}`);
      const isTold = /401|key|auth/i.test(report.error.message) || report.error.status === 401;
      assert.ok(isTold, report.error.message);
      return undefined;
    },
  },
  {
    name: 'unknown model',
    operation: 'ask',
    prompt: 'Count to ten.',
    model: 'zoo/none',
    check: (seen) => {
      if (seen.report.error && seen.lines().length === 0) return 'refuses';
      return failedWith(400, /zoo\/none|not.?found|400/i)(seen);
    },
  },
  {
    name: '402',
    operation: 'ask',
    prompt: 'Count to ten.',
    plan: { quota: 0 },
    check: (seen) => {
      failedWith(402, /quota|402/i)(seen);
      assert.equal(seen.lines().length, 1, 'a 402 was asked for again');
      return undefined;
    },
  },
  {
    name: '429, then free',
    operation: 'ask',
    prompt: 'Count to ten.',
    plan: { concurrency: 1 },
    busy: true,
    answer: says(WORDS),
    check: ({ report, lines }) => {
      const statuses = lines().map(({ status }) => status);
      assert.ok(statuses.includes(429), `no 429 but ${statuses}`);
      if (report.error) return 'raises';
      assert.equal(report.text, WORDS);
      return 'retries';
    },
  },
  {
    name: 'broken stream raises',
    operation: 'stream',
    prompt: 'Count to ten.',
    answer: says(WORDS, { ...IN_PIECES, breakAfter: 0.6 }),
    check: ({ report }) => {
      assert.ok(report.error, `half an answer was taken for a whole one: ${report.text}`);
      return undefined;
    },
  },
  {
    name: 'usage of a stream',
    operation: 'stream',
    prompt: 'Count to ten.',
    answer: says(WORDS, IN_PIECES),
    check: (seen) => {
      succeeded(seen);
      if (seen.report.usage === undefined) return 'not shown';
      assert.deepEqual(seen.report.usage, { input: USAGE.input, output: USAGE.output });
      return undefined;
    },
  },
  {
    name: 'cancel',
    operation: 'stream',
    prompt: 'Count to ten.',
    cancel: true,
    answer: says(WORDS.repeat(20), { sizes: [300], pauseMs: 40 }),
    check: async ({ report, lines }) => {
      const wasCut = (report.text ?? '').length < WORDS.length * 20;
      assert.ok(wasCut || report.error, 'the whole answer was read');
      await until(() => lines().length > 0, 'the router did not end the request within 5 s');
      assert.equal(lines()[0]?.outcome, 'abandoned');
      return undefined;
    },
  },
];
