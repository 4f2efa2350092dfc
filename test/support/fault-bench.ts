import { expect } from 'vitest';
import type { Target } from '../../lambdas/catalog/catalog.ts';
import type { CallerProtocolName } from '../../lambdas/protocols/protocol.ts';
import { createCountingClock } from './counting-clock.ts';
import { startFleet } from './fleet.ts';
import { startInstantUpstream } from './instant-upstream.ts';
import { CANARIES } from './leak-watch.ts';
import { modelOn, targetAt } from './models.ts';
import { openSocketsAt } from './open-sockets.ts';
import { PLANTED_TEXT } from './planted-secrets.ts';
import { conversationOf, PATHS } from './request-forms.ts';
import { type Sent, send } from './send.ts';
import { WIRES, type Wire } from './wires.ts';

/** One question to a model whose first target is broken in one way. */
export type Cell = {
  fault: string;
  /** Where the broken target lives, when the fault is below HTTP. */
  at?: (url: string) => string;
  family: CallerProtocolName;
  /** The protocol of the broken target. */
  wire: Wire;
  stream: boolean;
  /** Whether the request has an idempotency key. */
  isKeyed?: boolean;
  hasSecond: boolean;
  /** Milliseconds of the timers that must be waiting, in order; each is then let run out. */
  waits?: number[];
};

export type CellResult = Sent & {
  charged: number;
  attempts: number;
  /** Connections to upstreams that stay open. */
  kept: number;
  /** What the router wrote meanwhile. */
  log: string;
};

/** The limit of the first content. */
export const FIRST_EVENT_MS = 30_000;
/** The protocol of the second target. */
const otherThan = (wire: Wire): Wire => WIRES[(WIRES.indexOf(wire) + 1) % WIRES.length] ?? wire;

const idOf = ({ fault, family, wire, hasSecond, stream }: Cell): string =>
  `${family}-${wire}/${stream ? 's' : 'w'}${hasSecond ? 2 : 1}!${fault}`;

/** A router with one model for each cell, so that no cell's breaker is another's. */
export const startFaultBench = async (cells: Cell[]) => {
  const clock = createCountingClock(Date.UTC(2026, 10, 21, 12));
  const embedded = await startInstantUpstream(CANARIES.upstreamKey, clock, {
    failureText: `Injected failure: ${PLANTED_TEXT}`,
  });
  const targetsOf = (cell: Cell): Target[] => {
    const { wire, hasSecond, at = (url: string) => url } = cell;
    const other = otherThan(wire);
    const name = idOf(cell);
    return [
      targetAt(at(embedded.baseUrl(wire)), { protocol: wire, model: name }),
      ...(hasSecond
        ? [targetAt(embedded.baseUrl(other), { protocol: other, model: `second-${wire}` })]
        : []),
    ];
  };
  const models = cells.map((cell) => modelOn(targetsOf(cell), { id: idOf(cell) }));
  const fleet = await startFleet({ models, clock, secret: CANARIES.upstreamKey });

  const ask = (cell: Cell): Promise<Sent> => {
    const turns = [{ role: 'user', content: `${CANARIES.prompt}\nsay one two three four five` }];
    return send(fleet.urls[0] ?? '', PATHS[cell.family], {
      method: 'POST',
      headers: {
        'x-api-key': fleet.key,
        ...(cell.isKeyed && { 'idempotency-key': idOf(cell) }),
      },
      body: JSON.stringify({
        ...{ model: idOf(cell), stream: cell.stream },
        ...conversationOf(cell.family, turns),
      }),
    });
  };

  /**
   * Whether the router waits for what only this limit ends. The one of silence counts once the first content was read; the
   * log entry of a running request has a timer of the same length.
   */
  const isWaitingFor = (ms: number): boolean => {
    const waits = clock.waits();
    if (ms === FIRST_EVENT_MS) return waits.includes(ms);
    return !waits.includes(FIRST_EVENT_MS) && waits.filter((wait) => wait === ms).length === 2;
  };

  const run = async (cell: Cell): Promise<CellResult> => {
    const before = await fleet.charged();
    const written = fleet.logText().length;
    embedded.control.reset();
    const asked = ask(cell);
    for (const ms of cell.waits ?? []) {
      await expect.poll(() => isWaitingFor(ms)).toBe(true);
      if (cell.at === undefined) {
        await expect.poll(() => embedded.control.calls.length).toBeGreaterThan(0);
      }
      clock.advance(ms);
    }
    const sent = await asked;
    await expect.poll(() => clock.waits()).toEqual([]);
    const { calls } = embedded.control;
    await expect.poll(() => calls.some(({ outcome }) => outcome === 'open')).toBe(false);
    const url = fleet.urls[0] ?? '';
    await expect.poll(() => openSocketsAt(url).length).toBe(0);
    // One connection may stay open for the next call of each target.
    const kept = openSocketsAt(embedded.baseUrl('messages')).length;
    const charged = (await fleet.charged()) - before;
    const log = fleet.logText().slice(written);
    return { ...sent, charged, attempts: calls.length, kept, log };
  };

  return {
    run,
    url: embedded.baseUrl('messages'),
    key: fleet.key,
    readTables: fleet.readTables,
    close: async () => {
      await fleet.close();
      await embedded.close();
    },
  };
};
