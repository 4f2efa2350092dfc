import { expect, test } from 'vitest';
import { withStrictFleet } from '../answers/strict-fleet.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { checksAll, sample } from '../support/seeds.ts';
import { SDK_SESSIONS } from '../support/sessions/sdk-sessions.ts';
import type { Received, Script } from '../support/strict-upstream/server.ts';
import { WIRES, type Wire } from '../support/wires.ts';

/** Sessions on two targets of different protocols, of which that which is asked first breaks at some of the steps. */
const PAIRS = WIRES.flatMap((first) =>
  WIRES.filter((wire) => wire !== first).map((second) => ({ first, second })),
);
const bench = withStrictFleet(({ urls }) =>
  PAIRS.map(({ first, second }) => {
    const on = (protocol: Wire) =>
      targetAt(urls[protocol], {
        ...{ protocol, upstream: `${first}-${second}-${protocol}` },
        // OpenAI's, as the strict upstream of chat is.
        ...(protocol === 'chat' && { profile: { reasoningHistory: 'refused' as const } }),
      });
    return modelOn([on(first), on(second)], { id: `mixed/${first}-${second}` });
  }),
);

/** Prompts of a session; each takes three requests, the first of which ends in two calls at once. */
const LENGTH = checksAll ? 20 : 6;
const signatureOf = (wire: Wire): string => `SIGNEDBY${wire.toUpperCase()}`;
const callOf = (name: string) => ({
  ...{ id: `call_${name}`, name: 'append' },
  arguments: JSON.stringify({ path: 'f.txt', text: name }),
});

/** What the model says next, on any target. At some requests the target that is asked first breaks. */
const scriptOf = (broken: Map<string, Wire>) => {
  let [step, round] = [0, 0];
  return ({ wire }: Received): Script => {
    const at = `${step}.${round}`;
    const form = { isWhole: false, isAscii: false, units: [7] };
    const calls = [[callOf(`${at}a`), callOf(`${at}b`)], [callOf(`${at}c`)], []][round] ?? [];
    if ((step * 3 + round) % 4 === 1 && !broken.has(at)) broken.set(at, wire);
    const isBroken = broken.get(at) === wire;
    if (!isBroken && round === 2) [step, round] = [step + 1, 0];
    else if (!isBroken) round += 1;
    return {
      form,
      sizes: [1_000],
      ...(isBroken && { breakAfter: 0 }),
      meant: {
        id: at.replace('.', '_'),
        ...(wire !== 'chat' && {
          thinking: {
            text: `Thought ${at}.`,
            signature: `${signatureOf(wire)}${at.replace('.', '')}`,
          },
        }),
        ...{ text: `Said ${at}.`, calls, finish: calls.length > 0 ? 'tool-calls' : 'stop' },
        usage: { input: 100, cached: 0, output: 10 },
      },
    };
  };
};

/** The conversation of a request, without marks of a cache, which move. */
const turnsOf = ({ body }: Received): string[] => {
  const { messages, input, contents } = body as Record<string, unknown[] | undefined>;
  return (messages ?? input ?? contents ?? []).map((turn) =>
    JSON.stringify(turn, (name, value) => (name === 'cache_control' ? undefined : value)),
  );
};

const CELLS = PAIRS.flatMap(({ first, second }) =>
  Object.entries(SDK_SESSIONS).map(([caller, open]) => ({ first, second, caller, open })),
);

test.each(sample(CELLS, 2))(
  'a session of $caller on $first and $second, which break at some steps, is accepted by both at each step',
  async ({ first, second, open }) => {
    const { upstream, fleet } = bench;
    const broken = new Map<string, Wire>();
    upstream.take();
    upstream.script(scriptOf(broken));
    const say = open({
      ...{ baseUrl: fleet.urls[0] ?? '', key: fleet.key, model: `mixed/${first}-${second}` },
    });
    for (let step = 0; step < LENGTH; step += 1) {
      expect(await say(`Prompt ${step}.`, () => `Result ${step}.`)).toContain(`Said ${step}.2.`);
    }
    const received = upstream.take();
    expect(broken.size).toBeGreaterThan(LENGTH / 2);
    expect(new Set(received.map(({ wire }) => wire))).toEqual(new Set([first, second]));
    expect(received.flatMap(({ rejections }) => rejections)).toEqual([]);
    const text = (one: Received) => JSON.stringify(one.body);
    for (const wire of [first, second]) {
      const own = received.filter((one) => one.wire === wire);
      const others = WIRES.filter((other) => other !== wire).map(signatureOf);
      for (const one of own) {
        expect(others.filter((other) => text(one).includes(other))).toEqual([]);
      }
      const turns = own.map(turnsOf);
      for (const [at, earlier] of turns.slice(0, -1).entries()) {
        expect(turns[at + 1]?.slice(0, earlier.length)).toEqual(earlier);
      }
    }
  },
);
