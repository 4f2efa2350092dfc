/**
 * The stream as one pipe. Each line is one generator; each reads from the one above it.
 *
 *   readStream       size limits, SSE or JSON, decode; a batch a chunk   upstreams/read-answer.ts
 *   reportOutcome    first content, then the rest; outcome to breaker    routing/failover.ts
 *   answerEvents     origin tags, open blocks, usage, deadline cut       endpoints/answer-events.ts
 *   encodeForCaller  the caller's messages; a failure is the last one    here
 *   keepStream       event ids; the end waits for the store               replay/keeper.ts
 *   withHeartbeat    a heartbeat after each 10 s of silence      protocols/streams/sse.ts
 *   settleOnEnd      ends the upstream call, settles the unit            here
 *   onEnd            access-log line                                     http/middleware/access-log.ts
 *   format           text of each batch; never throws                    http/middleware/write-reply.ts
 *
 * A whole response takes the same way down to `answerEvents` and is then collected. docs/architecture.md
 * lists how a stream ends.
 */

import { BUDGET_EXCEEDED } from '../log-events.ts';
import type { StreamEncoder } from '../protocols/protocol.ts';
import { collect, writeResponse } from '../protocols/streams/collect.ts';
import { HEARTBEAT_MS, type MessageBatches, withHeartbeat } from '../protocols/streams/sse.ts';
import { type Clock, withTimeout } from '../support/clock.ts';
import { type ApiError, withSentence } from '../support/errors.ts';
import type { EventBatches } from '../upstreams/upstream.ts';
import { droppedHeader } from './check-call.ts';
import type { Call, EncodedReply, StreamReply } from './endpoint.ts';
import type { PendingAnswer } from './fetch-answer.ts';
import { endOf, isAbandoned, isCancelled, publicError } from './public-error.ts';

/** Says what an exception of an SDK has no other place for: how far the response came, what it costs, and its id. */
const interrupted = (error: ApiError, events: number, requestId: string): ApiError => {
  const count = events === 1 ? '1 event' : `${events} events`;
  const what = events > 0 ? `The response was interrupted after ${count}; it` : 'The request';
  return withSentence(error, `${what} is not charged. Request ${requestId}.`);
};

const endedByBudget = ({ notes }: Call): boolean => notes.fault === BUDGET_EXCEEDED;

/** A response that a budget ended looks like one that reached its `max_tokens`; this is how it differs. */
const BUDGET_COMMENT = { comment: 'A budget of dollars has ended this response.' };

/** Encodes a response for the caller's protocol. Never throws: a failure is the last message. */
async function* encodeForCaller(
  { checked: { call }, settlement }: PendingAnswer,
  encoder: StreamEncoder,
  { opening, startsSilent }: { opening: Promise<EventBatches>; startsSilent: boolean },
): MessageBatches {
  // A watchdog that counts bytes of the body does not count the headers.
  if (startsSilent) yield [call.protocol.heartbeat];
  let events = 0;
  try {
    // Awaited in here: failover may still be running behind the heartbeats.
    for await (const batch of await opening) {
      const messages = batch.flatMap(encoder.push);
      events += messages.length;
      if (messages.length > 0) yield messages;
    }
    if (endedByBudget(call)) yield [BUDGET_COMMENT];
    call.note({ outcome: 'finished' });
  } catch (error) {
    // Disconnected or cancelled: the request stays charged, and only the latter has a message.
    if (isAbandoned(error) && !isCancelled(error)) return;
    call.note(endOf(error));
    if (isCancelled(error)) yield encoder.fail(publicError(error), call.requestId);
    else {
      await settlement.fail();
      const told = interrupted(publicError(error), events, call.requestId);
      yield encoder.fail(told, call.requestId);
    }
  }
}

/**
 * Ends or aborts the upstream call and settles the unit, however the stream ends. It is outside the heartbeat: if
 * the upstream is silent, `return` reaches the stages inside only after their pending `next`.
 */
export async function* settleOnEnd(
  messages: MessageBatches,
  { fetched, settlement }: Pick<PendingAnswer, 'fetched' | 'settlement'>,
): MessageBatches {
  let end = fetched.abort;
  try {
    yield* messages;
    end = fetched.end;
  } finally {
    end();
    await settlement.endSoon();
  }
}

/**
 * Responds with a stream. The status waits for the first content, so that a failure before it has its own
 * status; after 10 s of silence it is sent with heartbeats, and failover continues behind them.
 * @throws ApiError or UpstreamError while no byte is sent, with the unit still to be settled
 */
export const respondWithStream = async (
  answer: PendingAnswer,
  clock: Clock,
): Promise<StreamReply> => {
  const { fetched, settlement } = answer;
  const { call, request } = answer.checked;
  const opening = fetched.answer.then(async ({ batches, isEmpty }) => {
    if (isEmpty) await settlement.deliverEmpty();
    else settlement.deliver();
    return batches;
  });
  let startsSilent: boolean;
  try {
    startsSilent = !(await withTimeout(clock, HEARTBEAT_MS, opening));
  } catch (error) {
    call.note(endOf(error));
    fetched.abort();
    throw error;
  }
  // Overwritten at the end, which a client that disconnects never reaches.
  call.note({ outcome: 'abandoned' });
  const encoder = call.protocol.streamEncoder(request, answer.meta);
  const encoded = encodeForCaller(answer, encoder, { opening, startsSilent });
  const kept = answer.keeper?.keepStream(encoded, settlement) ?? encoded;
  const live = withHeartbeat(kept, call.protocol.heartbeat, clock);
  return {
    status: 200,
    headers: droppedHeader(answer.checked, fetched.tried.at(-1)?.form),
    messages: settleOnEnd(live, answer),
  };
};

const collectReply = async (answer: PendingAnswer): Promise<EncodedReply> => {
  const { fetched, settlement, meta } = answer;
  const { call, request } = answer.checked;
  try {
    const { batches, isEmpty } = await fetched.answer;
    const generation = await collect(batches);
    fetched.end();
    // Before the charge: a response that cannot be encoded is a 5xx, and those are free.
    const json = writeResponse(call.protocol, generation, { request, meta });
    if (isEmpty) await settlement.deliverEmpty();
    else settlement.deliver();
    call.note({ outcome: 'finished' });
    const headers = droppedHeader(answer.checked, fetched.tried.at(-1)?.form);
    const warning = endedByBudget(call) && { 'x-router-warning': 'budget' };
    return { status: 200, headers: warning ? { ...headers, ...warning } : headers, json };
  } catch (error) {
    call.note(endOf(error));
    fetched.abort();
    throw error;
  }
};

/**
 * Responds in one piece. The upstream streams regardless: a stream shows that the upstream is alive and
 * that its response is complete.
 * @throws ApiError or UpstreamError, with the unit still to be settled
 */
export const respondWhole = async (answer: PendingAnswer): Promise<EncodedReply> => {
  const { keeper, settlement } = answer;
  const reply = await collectReply(answer);
  // Before the unit is settled: if the process dies in between, a repeat does not cost a second unit.
  const kept = keeper ? await keeper.keepWhole(reply, settlement) : reply;
  await settlement.endSoon();
  return kept;
};
