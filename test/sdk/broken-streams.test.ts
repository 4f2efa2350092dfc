import { describe, expect, test } from 'vitest';
import type { Fault } from '../../local/embedded-upstream/faults.ts';
import { rejection } from '../support/error-of.ts';
import type { Family } from '../support/families.ts';
import { createFreshModels } from '../support/fresh-models.ts';
import { useRouter } from '../support/local.ts';
import { createRecordingFetch } from '../support/recording-fetch.ts';
import { CALLERS, type Caller } from './callers.ts';

/** After five messages both protocols have sent words. */
const BREAKS: Fault[] = [
  { kind: 'truncate', after: 5 },
  { kind: 'malformed', after: 5 },
  { kind: 'reset', after: 5 },
  { kind: 'error', after: 5 },
];
/** Whatever comes before the first word. */
const FALSE_STARTS: Fault[] = [
  { kind: 'truncate', after: 1 },
  { kind: 'malformed', after: 1 },
  { kind: 'reset', after: 1 },
  { kind: 'error', after: 1 },
  { kind: 'reset' },
  { kind: 'empty' },
  { kind: 'body', as: 'html' },
  { kind: 'redirect' },
  { kind: 'status', status: 429, retryAfter: '7' },
  { kind: 'status', status: 401 },
];
const PROTOCOLS: Family[] = ['chat', 'messages'];
const OTHER = { chat: 'messages', messages: 'chat' };
const GRID = CALLERS.flatMap((caller) =>
  PROTOCOLS.map((protocol) => ({ caller, protocol, name: caller.name })),
);

const models = createFreshModels(CALLERS.length * (BREAKS.length + FALSE_STARTS.length + 2));
// A pause between the messages, so that the first ones have left before the upstream breaks off.
const router = useRouter({ delayMs: 2, catalog: models.catalog });

const SIX = 'One two three four five six.';

type Trial = { caller: Caller; protocol: Family; fault: Fault; everywhere?: true };

/** One question to a model whose first target, or every one, has the fault. */
const tryOn = async ({ caller, protocol, fault, everywhere }: Trial) => {
  const model = models.next(protocol);
  router().upstreams.reset();
  router().upstreams.inject(everywhere ? { fault } : { fault, protocol });
  const recording = createRecordingFetch();
  const { baseUrl, key } = router();
  const seen: string[] = [];
  const answer = caller.stream(
    { baseUrl, key, fetch: recording.fetch },
    { model, prompt: `say ${SIX}` },
    (text) => seen.push(text),
  );
  return { answer, recording, seen };
};

const nameOf = ({ kind, ...rest }: Fault) => [kind, ...Object.values(rest)].join(' ');

describe.each(GRID)('$name on an upstream that speaks $protocol', ({ caller, protocol }) => {
  test.each(BREAKS.map((fault) => ({ fault, name: nameOf(fault) })))(
    'an SDK throws after the fault $name and keeps the events that it has read',
    async ({ fault }) => {
      const { answer, recording, seen } = await tryOn({ caller, protocol, fault });
      const error = await rejection(answer);
      expect(String(error)).toContain(
        fault.kind === 'malformed'
          ? "The model's provider sent an invalid response."
          : 'The model is temporarily unavailable.',
      );
      // An exception of these SDKs has no other place for them.
      expect(String(error)).toMatch(
        /The response was interrupted after \d+ events; it is not charged\. Request req_\w+\./,
      );
      expect(seen.join('')).toMatch(/^One/);
      expect(SIX.startsWith(seen.join(''))).toBe(true);
      expect(recording.statuses).toEqual([200]);
      // Never switched: the caller has seen a part of this answer.
      expect(router().upstreams.calls).toHaveLength(1);
    },
  );

  test('an SDK throws by status when no target sends content', async () => {
    const fault: Fault = { kind: 'truncate', after: 1 };
    const { answer, recording } = await tryOn({ caller, protocol, fault, everywhere: true });
    expect(await rejection(answer)).toMatchObject({ status: 502 });
    expect(recording.statuses).toEqual([502]);
    expect(router().upstreams.calls).toHaveLength(2);
  });
});

/** One SDK of each family: what is not noticed looks the same to all. */
const NEWEST = GRID.filter(({ name }) => name === 'openai 7' || name === 'anthropic 1');

describe.each(NEWEST)('$name on an upstream that speaks $protocol', ({ caller, protocol }) => {
  test.each(FALSE_STARTS.map((fault) => ({ fault, name: nameOf(fault) })))(
    'the fault $name before the first content is invisible to an SDK',
    async ({ fault }) => {
      const { answer, recording } = await tryOn({ caller, protocol, fault });
      expect(await answer).toBe(SIX);
      expect(recording.statuses).toEqual([200]);
      const asked = router().upstreams.calls.map((call) => call.protocol);
      // A connection that was kept open and breaks is replaced once before the target is given up.
      expect([...new Set(asked)]).toEqual([protocol, OTHER[protocol]]);
    },
  );
});

describe.each(CALLERS)('$name', ({ stream }) => {
  test('a stream that breaks off is refunded', async () => {
    const key = await router().createKey({ plan: { quota: 1 } });
    const model = models.next('chat');
    const { baseUrl } = router();
    const ask = (prompt: string) => stream({ baseUrl, key }, { model, prompt }).catch(String);
    router().upstreams.reset();
    expect(await ask('fault truncate=5\nsay One two three four five.')).toContain('unavailable');
    expect(await ask('say It is back.')).toBe('It is back.');
    expect(await ask('say More.')).toContain('402');
  });
});
