import { gunzipSync } from 'node:zlib';
import type { Call, StreamReply } from '../endpoints/endpoint.ts';
import { asNumber, asString, readJsonObject } from '../protocols/bytes/json.ts';
import {
  createSseReader,
  type MessageBatches,
  type SseEvent,
  withHeartbeat,
} from '../protocols/streams/sse.ts';
import type { ResponseStore } from '../stores/response-store.ts';
import { type Clock, pause } from '../support/clock.ts';
import type { Found } from './stored.ts';

const PAUSE_MS = 1_000;
/** For the last read, before the platform ends the invocation. */
const RESERVE_MS = 10_000;

export type FollowDeps = {
  responses: Pick<ResponseStore, 'findPiece'>;
  /** Reads the response again, as it is now. */
  again(): Promise<Found | undefined>;
  clock: Clock;
};

const numberOf = ({ data }: SseEvent): number =>
  asNumber(readJsonObject(data)?.sequence_number) ?? -1;

export const isEnd = ({ event = '' }: SseEvent): boolean =>
  /^response\.(?:completed|incomplete|failed)$/.test(event);

/** The last event of a response whose own was not stored. */
const lastEvent = ({ response }: Found, number: number): SseEvent => {
  const status = asString(response.status) ?? 'failed';
  const type = `response.${status === 'cancelled' ? 'failed' : status}`;
  return { event: type, data: JSON.stringify({ type, response, sequence_number: number }) };
};

/** The pieces of a response, then those that its process stores; a last one that could not be stored is left out. */
async function* readPieces(
  found: Found,
  { call, deps }: { call: Call; deps: FollowDeps },
): AsyncGenerator<SseEvent[] | Found, void, void> {
  let current: Found | undefined = found;
  for (let index = 0; current; ) {
    const isOver = current.leaseUntil === undefined;
    if (index >= current.pieces && isOver) {
      yield current;
      return;
    }
    const piece = index < current.pieces && (await deps.responses.findPiece(found.key, index));
    if (piece) yield createSseReader().push(gunzipSync(piece));
    if (piece || isOver) index += 1;
    else {
      if (call.signal.aborted || call.remainingMs() < RESERVE_MS) return;
      await pause(deps.clock, PAUSE_MS);
      current = await deps.again().catch(() => current);
    }
  }
}

/** The events of a response behind the number `after`. */
async function* follow(
  found: Found,
  after: number,
  parts: { call: Call; deps: FollowDeps },
): MessageBatches {
  let next = after + 1;
  let hasEnded = false;
  for await (const read of readPieces(found, parts)) {
    if (!Array.isArray(read)) {
      if (!hasEnded) yield [lastEvent(read, next)];
      return;
    }
    hasEnded ||= read.some(isEnd);
    const rest = read.filter((event) => numberOf(event) >= next);
    next = Math.max(next, ...read.map((event) => numberOf(event) + 1));
    if (rest.length > 0) yield rest;
  }
}

/** The stream of a background response, from any process; a store that fails in it ends it, and it can be asked for again. */
export const followResponse = (
  found: Found,
  after: number,
  parts: { call: Call; deps: FollowDeps },
): StreamReply => {
  const messages = follow(found, after, parts);
  const { heartbeat } = parts.call.protocol;
  return { status: 200, messages: withHeartbeat(messages, heartbeat, parts.deps.clock) };
};
