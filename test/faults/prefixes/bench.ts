import { subscribe } from 'node:diagnostics_channel';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../../lambdas/support/clock.ts';
import { listen } from '../../../local/loopback.ts';
import { startFleet } from '../../support/fleet.ts';
import { answer as answerSecond } from '../../support/fleet-upstream.ts';
import { CANARIES } from '../../support/leak-watch.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { modelOn, targetAt } from '../../support/models.ts';
import { conversationOf, PATHS } from '../../support/request-forms.ts';
import { type Sent, send } from '../../support/send.ts';
import type { Cell } from './cells.ts';
import { WIRES } from './wires.ts';

/** Turns of the event loop after which everything in this process has reacted. */
const QUIET_TURNS = 40;
/** Under every limit on silence. */
const PING_MS = 15_000;

type Served = { request: IncomingMessage; response: ServerResponse };

/** Calls of the tables that the servers of this process have not answered. */
const tableCalls = new Set<ServerResponse>();
subscribe('http.server.request.start', (message) => {
  const { request, response } = message as Served;
  if (request.headers['x-amz-target'] === undefined) return;
  tableCalls.add(response);
  response.once('close', () => tableCalls.delete(response));
});

const settle = async (): Promise<void> => {
  for (let quiet = 0; quiet < QUIET_TURNS; quiet += 1) {
    if (tableCalls.size > 0) quiet = 0;
    await setImmediate();
  }
};

/** A manual clock that knows when its next timer is due. */
const createSteppedClock = (start: number) => {
  const manual = createManualClock(start);
  const due = new Set<{ at: number }>();
  const after: Clock['after'] = (ms, action) => {
    const timer = { at: manual.now() + ms };
    due.add(timer);
    const cancel = manual.after(ms, () => {
      due.delete(timer);
      action();
    });
    return () => {
      due.delete(timer);
      cancel();
    };
  };
  const nextDue = () => Math.min(...[...due].map(({ at }) => at));
  return { ...manual, after, nextDue };
};

const sendHead = (response: ServerResponse, { head, bytes }: Cell) => {
  if (head === 'a 102') response.writeProcessing();
  if (head === 'a 101') {
    const lines = ['HTTP/1.1 101 Switching Protocols', 'connection: upgrade', 'upgrade: websocket'];
    response.socket?.write(`${lines.join('\r\n')}\r\n\r\n`);
  }
  if (head !== 'a 200') return;
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  if (bytes !== '') response.write(bytes);
};

/** A router with one model for each cell on a clock that moves by itself while a request is under way. */
export const startPrefixBench = async (cells: Cell[]) => {
  const clock = createSteppedClock(Date.UTC(2026, 10, 21, 12));
  const byModel = new Map(cells.map((cell) => [cell.id, cell]));
  /** The response that the upstream keeps open. */
  let held: ServerResponse | undefined;
  const upstream = await listen(
    createServer(async (request, response) => {
      const { model } = (await json(request)) as { model?: string };
      // In the path of Gemini's protocol.
      const [, named = ''] = /\/models\/([^:]+):/.exec(request.url ?? '') ?? [];
      const cell = byModel.get(model ?? decodeURIComponent(named));
      if (!cell) return answerSecond(response);
      sendHead(response, cell);
      held = response;
      if (cell.then === 'a close') response.socket?.end();
    }),
  );
  const models = cells.map((cell) => {
    const first = { protocol: cell.wire, model: cell.id, upstream: 'first' };
    return modelOn(
      [
        targetAt(upstream.url, first),
        ...(cell.second ? [targetAt(upstream.url, { upstream: 'second' })] : []),
      ],
      { id: cell.id },
    );
  });
  const fleet = await startFleet({ models, clock, secret: CANARIES.upstreamKey });

  const release = () => {
    held?.destroy();
    held = undefined;
  };

  const ask = ({ id, caller, stream }: Cell): Promise<Sent> =>
    send(fleet.urls[0] ?? '', PATHS[caller], {
      method: 'POST',
      headers: { 'x-api-key': fleet.key },
      body: JSON.stringify({
        ...{ model: id, stream },
        ...conversationOf(caller, [{ role: 'user', content: 'hi' }]),
      }),
    });

  /** Moves the clock to its next timer or to the upstream's next ping. */
  const step = ({ wire, then }: Cell, nextPing: number): number => {
    const due = clock.nextDue();
    if (then !== 'pings' || due < nextPing) {
      if (!Number.isFinite(due)) throw new Error('it waits, and no timer is set');
      clock.set(due);
      return nextPing;
    }
    clock.set(nextPing);
    if (held?.writable) held.write(WIRES[wire].ping);
    return nextPing + PING_MS;
  };

  /** Steps until the answer is there. Returns the time that it took by the clock. */
  const drive = async (cell: Cell, asked: Promise<unknown>): Promise<number> => {
    let isOver = false;
    const end = () => {
      isOver = true;
    };
    asked.then(end, end);
    const started = clock.now();
    let nextPing = started + PING_MS;
    for (;;) {
      await settle();
      if (isOver) return clock.now() - started;
      nextPing = step(cell, nextPing);
    }
  };

  return {
    run: async (cell: Cell) => {
      const before = await fleet.charged();
      const asked = ask(cell);
      const afterMs = await drive(cell, asked);
      const sent = await asked;
      release();
      await settle();
      return { sent, afterMs, charged: (await fleet.charged()) - before };
    },
    close: async () => {
      await fleet.close();
      await upstream.close();
    },
  };
};
