import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  CALLER_PROTOCOLS,
  type CallerProtocolName,
} from '../../lambdas/protocols/protocol-name.ts';
import type { Fault } from '../../local/embedded-upstream/faults.ts';
import { startClientBench } from '../support/client-bench.ts';
import { openSocketsAt } from '../support/open-sockets.ts';
import type { RawClient } from '../support/raw-client.ts';

type Bench = Awaited<ReturnType<typeof startClientBench>>;
let bench: Bench;
beforeAll(async () => {
  bench = await startClientBench();
});
afterAll(() => bench.close());

/** How a client goes. */
const WAYS: Record<string, (client: RawClient) => void> = {
  'closes its connection': ({ socket }) => socket.destroy(),
  'resets its connection': ({ socket }) => socket.resetAndDestroy(),
  'closes its half of the connection': ({ socket }) => void socket.end(),
};

type Moment = {
  name: string;
  /** What keeps the answer from going on. */
  fault: Fault;
  modes: boolean[];
  /** Resolves when the client is to go. */
  comes: (client: RawClient) => Promise<unknown>;
  charged: number;
  status: number;
};

const upstreamAsked = () => expect.poll(() => bench.control.calls.length).toBe(1);

/** The heartbeats of callers' protocols, which are no content. */
const BEAT = /: waiting|event: ping/;

const MOMENTS: Moment[] = [
  {
    name: 'before the upstream says anything',
    fault: { kind: 'stall' },
    modes: [true, false],
    comes: upstreamAsked,
    charged: 0,
    status: 499,
  },
  {
    name: 'before the first content',
    fault: { kind: 'stall', after: 0 },
    modes: [true, false],
    comes: upstreamAsked,
    charged: 0,
    status: 499,
  },
  {
    name: 'while only heartbeats come',
    fault: { kind: 'stall' },
    modes: [true],
    comes: async ({ received }) => {
      await upstreamAsked();
      await expect.poll(bench.clock.waits).toContain(10_000);
      bench.clock.advance(10_000);
      await expect.poll(bench.clock.waits).toContain(10_000);
      bench.clock.advance(10_000);
      await expect.poll(received).toMatch(BEAT);
    },
    charged: 0,
    status: 200,
  },
  {
    name: 'while its whole answer is collected',
    fault: { kind: 'stall', after: 5 },
    modes: [false],
    // Only the limit on the silence between two chunks is left: the first content has been read.
    comes: () =>
      expect
        .poll(() => bench.clock.waits().toSorted())
        .toEqual([3_000, 590_000, 60_000, 60_000].toSorted()),
    charged: 0,
    status: 499,
  },
  {
    name: 'after the first content',
    // A stream of responses has four events before its first word.
    fault: { kind: 'stall', after: 6 },
    modes: [true],
    comes: ({ has }) => has('two'),
    charged: 1,
    status: 200,
  },
];

const CASES = MOMENTS.flatMap(({ modes, ...moment }) =>
  modes.flatMap((stream) => CALLER_PROTOCOLS.map((family) => ({ ...moment, stream, family }))),
);

describe.each(Object.entries(WAYS))('a client that %s', (_, goes) => {
  test.each(CASES)('$name: $family, streamed: $stream', async (moment) => {
    const { family, stream, fault, comes, charged, status } = moment;
    const trace = await bench.traceOf(1, async () => {
      const client = await bench.ask({ family, stream, fault });
      await comes(client);
      goes(client);
    });
    // The second target, healthy as it is, is not asked for somebody who has gone.
    expect(trace.calls).toEqual(['abandoned']);
    expect(trace.charged).toBe(charged);
    expect(trace.lines).toEqual([
      expect.objectContaining({ event: 'request', status, outcome: 'abandoned', stream }),
    ]);
    expect(trace.lines[0]).not.toHaveProperty('fault');
    expect(openSocketsAt(bench.upstreamUrl)).toEqual([]);
    await bench.expectNextAnswered(family);
  });
});

describe('a hundred clients that leave at once', () => {
  const leaveAll = async (family: CallerProtocolName) => {
    const clients = await Promise.all(
      Array.from({ length: 100 }, (_, at) =>
        bench.ask({
          family,
          stream: at % 2 === 0,
          prompt: `fault ${at % 4 < 2 ? 'stall=6' : 'stall'}\nsay one two three four five`,
        }),
      ),
    );
    const streams = clients.filter((_, at) => at % 4 === 0);
    await Promise.all(streams.map(({ has }) => has('two')));
    await expect.poll(() => bench.control.calls.length).toBe(100);
    for (const { socket } of clients) socket.resetAndDestroy();
  };

  test.each(CALLER_PROTOCOLS)(
    'a hundred %s clients that disconnect at once are charged for the content they got and leave no connection',
    async (family) => {
      const trace = await bench.traceOf(100, () => leaveAll(family));
      expect(trace.calls).toEqual(Array.from({ length: 100 }, () => 'abandoned'));
      expect(trace.charged).toBe(25);
      const lines = trace.lines.map(({ event, status, outcome }) => [event, status, outcome]);
      expect(lines.filter(([, status]) => status === 200)).toHaveLength(25);
      expect(new Set(lines.map(String))).toEqual(
        new Set(['request,200,abandoned', 'request,499,abandoned']),
      );
      expect(openSocketsAt(bench.upstreamUrl)).toEqual([]);
      await bench.expectNextAnswered(family);
    },
  );
});
