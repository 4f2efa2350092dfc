import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCatalog } from '../../lambdas/catalog/catalog.ts';
import { CALLER_PROTOCOLS, UPSTREAM_PROTOCOLS } from '../../lambdas/protocols/protocol-name.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { conversationOf, PATHS } from '../support/request-forms.ts';
import { checksAll, fc } from '../support/seeds.ts';
import { expectForm } from './answer-rules.ts';
import { responseSamples, type Sample, streamSamples } from './corpus.ts';
import { deliver } from './deliver.ts';
import { fuzz, timeoutOf } from './fuzz.ts';
import { byteMutation, mutateBytes, splitBytes, splits } from './mutate-bytes.ts';
import { type RawUpstream, startRawUpstream } from './raw-upstream.ts';
import { familyFor, named, pick, some, withKnownStops } from './wire-inputs.ts';

const SHARE = 0.2;

const STATUSES = [
  ...[
    '100 Continue',
    '101 Switching Protocols',
    '103 Early Hints',
    '204 No Content',
    '206 Partial',
  ],
  ...['301 Moved', '304 Not Modified', '400 Bad Request', '401 No', '413 Large', '429 Busy'],
  ...['500 Error', '503 Busy', '999 ?', '200'],
];
const FRAMES = ['close', 'close', 'length', 'chunked', 'chunked', 'wrong-length'] as const;

const isStream = ({ text }: Sample): boolean => !text.startsWith('{');

/** An answer as HTTP frames it. */
const frame = (sample: Sample, body: Uint8Array, status: string, by: (typeof FRAMES)[number]) => {
  const type = isStream(sample) ? 'text/event-stream' : 'application/json';
  const head = (line: string) =>
    Buffer.from(`HTTP/1.1 ${status}\r\ncontent-type: ${type}\r\n${line}\r\n`);
  switch (by) {
    case 'close':
      return Buffer.concat([head(''), body]);
    case 'length':
      return Buffer.concat([head(`content-length: ${body.length}\r\n`), body]);
    case 'wrong-length':
      return Buffer.concat([head(`content-length: ${body.length + 9}\r\n`), body]);
    default: {
      const size = Buffer.from(`${body.length.toString(16)}\r\n`);
      const parts = [
        head('transfer-encoding: chunked\r\n'),
        size,
        body,
        Buffer.from('\r\n0\r\n\r\n'),
      ];
      return Buffer.concat(parts);
    }
  }
};

const SAMPLES = [...streamSamples, ...responseSamples];

const input = fc.record({
  sample: pick(SAMPLES),
  family: fc.constantFrom(...CALLER_PROTOCOLS),
  isStreamed: fc.boolean(),
  status: fc.oneof(
    { weight: 9, arbitrary: fc.constant('200 OK') },
    { weight: 1, arbitrary: fc.constantFrom(...STATUSES) },
  ),
  by: fc.constantFrom(...FRAMES),
  body: some(6, byteMutation),
  whole: some(3, byteMutation),
  splits,
});

/** Few of all samples, and an ending of its own. */
const EMPTY = SAMPLES.filter(({ name }) => /-empty$|empty-answer$/.test(name)).map((sample) => ({
  ...{ sample: named(sample), family: 'chat' as const, isStreamed: isStream(sample) },
  ...{ status: '200 OK', by: 'close' as const, body: [], whole: [], splits: [] },
}));

/** A catalog whose every question meets a target that nobody has asked: no breaker may open. */
const freshTargets = (url: string) => {
  let count = 0;
  const catalog = createCatalog([modelOn([targetAt(url)])]);
  const require = (id: string) => {
    count += 1;
    const protocol = UPSTREAM_PROTOCOLS.find((name) => name === id) ?? 'chat';
    const model = modelOn([targetAt(url, { protocol, model: `fresh-${count}` })]);
    return { asked: model, model };
  };
  return { ...catalog, require };
};

let fleet: Fleet;
let upstream: RawUpstream;
beforeAll(async () => {
  upstream = await startRawUpstream();
  fleet = await startFleet({ models: [], catalog: freshTargets(upstream.url), clock: systemClock });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});

test(
  'a caller of an upstream with mutated bytes gets a valid response and pays only for a complete one',
  async ({ annotate }) => {
    const endings = { good: 0, empty: 0, refused: 0, broken: 0 };
    const [handler] = fleet.handlers;
    if (!handler) throw new Error('no router');
    await fuzz({
      share: SHARE,
      input,
      examples: EMPTY,
      make: ({ sample, family, isStreamed, status, by, ...changes }) => {
        const body = mutateBytes(Buffer.from(sample.of.text), changes.body);
        const framed = mutateBytes(frame(sample.of, body, status, by), changes.whole);
        return {
          family: familyFor(sample.of, family),
          from: sample.of.wire,
          isStreamed,
          pieces: splitBytes(withKnownStops(framed), changes.splits),
        };
      },
      act: ({ family, from, isStreamed, pieces }) => {
        upstream.say(pieces);
        const turns = [{ role: 'user', content: 'hi' }];
        const body = { model: from, stream: isStreamed, ...conversationOf(family, turns) };
        return deliver(handler, 'a Function URL', {
          method: 'POST',
          path: PATHS[family],
          headers: [
            ['x-api-key', fleet.key],
            ['content-type', 'application/json'],
          ],
          body: Buffer.from(JSON.stringify(body)),
        });
      },
      check: (answer, { family }) => {
        endings[expectForm(PATHS[family], answer)] += 1;
      },
      show: ({ family, from, isStreamed, pieces }) =>
        `${from} to ${family}, ${isStreamed ? 'streamed' : 'whole'}\n${pieces
          .map((piece) => JSON.stringify(Buffer.from(piece).toString('latin1').slice(0, 3_000)))
          .join('\n')}`,
      between: async () => expect(await fleet.charged()).toBe(endings.good),
      annotate,
    });
    await annotate(JSON.stringify(endings));
    const { broken, ...usual } = endings;
    // One in a hundred streams breaks after its first words.
    expect(Math.min(...Object.values(usual), ...(checksAll ? [broken] : []))).toBeGreaterThan(0);
  },
  timeoutOf(SHARE),
);
