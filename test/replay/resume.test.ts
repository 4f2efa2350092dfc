import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { passing, startReplayBench } from './replay-bench.ts';

const FAMILIES = ['chat', 'messages', 'responses'] as const;
const TEXT = 'Answer 1: näive 𝄞 words only';
const ID = /^id: (\S+)\n/m;

/** The events of a stream with ids, and the text behind each. */
const eventsOf = (text: string) => {
  const messages = text.split(/(?<=\n\n)/);
  return messages.flatMap((message, n) => {
    const [, id] = ID.exec(message) ?? [];
    return id === undefined ? [] : [{ id, rest: messages.slice(n + 1).join('') }];
  });
};

const after = (id: string) => ({ headers: { 'last-event-id': id } });

/** Reads a response until `isEnough`, and leaves the rest to be read. */
const readUntil = async (response: IncomingMessage, isEnough: (text: string) => boolean) => {
  let text = '';
  for await (const chunk of response.iterator({ destroyOnReturn: false })) {
    text += String(chunk);
    if (isEnough(text)) break;
  }
  return text;
};

test.each(FAMILIES)(
  'a repeat with Last-Event-ID gets exactly what follows that event, for each event of a finished stream, in any process: %s',
  async (family) => {
    const { ask, fleet, upstream } = await startReplayBench();
    const whole = await ask({ family });
    const events = eventsOf(whole.text);
    expect(events.length).toBeGreaterThan(6);
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
    for (const router of [0, 1]) {
      for (const { id, rest } of events) {
        // The first process sends gzip.
        const encoding = router === 0 && { 'accept-encoding': 'gzip' };
        const asked = { 'last-event-id': id, ...encoding };
        const { status, text, headers } = await ask({ family, router, headers: asked });
        expect([id, status, text]).toEqual([id, 200, rest]);
        expect(headers['idempotent-replayed']).toBe('true');
      }
    }
    expect([upstream.calls.length, await fleet.charged()]).toEqual([1, 1]);
  },
);

test.each([0, 1])(
  'a repeat with Last-Event-ID continues a running stream behind that event, through process %s',
  async (router) => {
    const bench = await startReplayBench();
    const { ask, askAndHold, untilCalls, lastCall, upstream, fleet } = bench;
    upstream.state.isQuick = false;
    const { opened, leave } = askAndHold();
    await untilCalls(1);
    lastCall().begin();
    lastCall().proceed();
    const [response] = await opened;
    const seen = await readUntil(response, (text) => text.includes(' more'));
    leave();
    const events = eventsOf(seen);
    const repeats = events.map(({ id }) => ask({ router, ...after(id) }));
    lastCall().finish();
    const whole = (await passing(bench, ask())).text;
    const rests = (await passing(bench, Promise.all(repeats))).map(({ text }) => text);
    expect(rests.map((text) => text.replaceAll(': waiting\n\n', ''))).toEqual(
      eventsOf(whole)
        .slice(0, events.length)
        .map(({ rest }) => rest),
    );
    expect(whole.startsWith(seen.replaceAll(': waiting\n\n', ''))).toBe(true);
    expect([upstream.calls.length, await fleet.charged()]).toEqual([1, 1]);
  },
);

test('a repeat with Last-Event-ID of a running stream in the same process follows it live', async () => {
  const { ask, askAndHold, untilCalls, lastCall, upstream } = await startReplayBench();
  upstream.state.isQuick = false;
  const first = ask();
  await untilCalls(1);
  lastCall().begin();
  const head = askAndHold();
  const [seen] = await head.opened;
  const id = eventsOf(await readUntil(seen, (text) => ID.test(text))).at(0)?.id ?? '';
  const repeat = askAndHold(after(id));
  const [response] = await repeat.opened;
  lastCall().proceed();
  const start = await readUntil(response, (text) => text.includes(' more'));
  lastCall().finish();
  const rest = start + (await readUntil(response, () => false));
  const whole = eventsOf((await first).text).find((event) => event.id === id);
  expect(rest.replaceAll(': waiting\n\n', '')).toBe(whole?.rest);
});

test('Last-Event-ID of a response that does not exist any more gets a 409, of another form a 400, free', async () => {
  const { ask, clock, fleet, upstream } = await startReplayBench();
  const id = eventsOf((await ask()).text).at(2)?.id ?? '';
  const foreign = `aaaaaaaa-${id.split('-')[1]}`;
  for (const router of [0, 1]) {
    const lost = await ask({ router, ...after(foreign) });
    expect([lost.status, lost.headers['x-should-retry']]).toEqual([409, 'false']);
    expect((await ask({ router, ...after('third') })).status).toBe(400);
    expect((await ask({ router, idempotencyKey: 'unused', ...after(id) })).status).toBe(409);
  }
  clock.advance(24 * 3_600_000);
  expect((await ask({ router: 1, ...after(id) })).status).toBe(409);
  expect(upstream.calls).toHaveLength(1);
  expect(await fleet.charged()).toBe(1);
});

test('a repeat with Last-Event-ID and another body gets a 422', async () => {
  const { ask } = await startReplayBench();
  const id = eventsOf((await ask()).text).at(2)?.id ?? '';
  for (const router of [0, 1]) {
    expect((await ask({ router, prompt: 'else', ...after(id) })).status).toBe(422);
  }
});

test('a repeat of a whole response ignores Last-Event-ID', async () => {
  const { ask } = await startReplayBench();
  const { text } = await ask({ stream: false });
  const again = await ask({ stream: false, ...after('aaaaaaaa-1') });
  expect([again.status, again.text]).toEqual([200, text]);
  expect(text).toContain(TEXT);
});
