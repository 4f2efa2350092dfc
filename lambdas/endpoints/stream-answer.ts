import type { SseMessage } from '../protocols/sse.ts';
import type { Clock } from '../support/clock.ts';
import { withTimeout } from '../support/with-timeout.ts';
import type { EventBatches } from '../upstreams/upstream.ts';
import type { StreamReply } from './endpoint.ts';
import { HEARTBEAT_MS, withHeartbeat } from './heartbeat.ts';
import type { PendingAnswer } from './pending-answer.ts';
import { endOf, isAbandoned, publicError } from './public-error.ts';

/** The answer in the caller's wire. It never throws: a failure is its last message. */
async function* tell(
  { checked: { call, request }, label, settlement }: PendingAnswer,
  opening: Promise<EventBatches>,
  isSilent: boolean,
): AsyncGenerator<SseMessage[], void, void> {
  const { protocol, requestId } = call;
  const encoder = protocol.streamEncoder(request, label);
  // Headers alone do not feed a watchdog that counts bytes of the body.
  if (isSilent) yield [protocol.heartbeat];
  try {
    for await (const batch of await opening) {
      const messages = batch.flatMap(encoder.push);
      if (messages.length > 0) yield messages;
    }
    call.note({ outcome: 'finished' });
  } catch (error) {
    // The caller has gone: nobody is left to tell, and what was sent stays charged.
    if (isAbandoned(error)) return;
    await settlement.fail();
    call.note(endOf(error));
    yield protocol.encodeStreamError(publicError(error), requestId, label);
  }
}

/** Ends the upstream call and settles the unit, whichever way the stream ends. */
async function* settled(
  messages: AsyncGenerator<SseMessage[], void, void>,
  { fetched, settlement }: PendingAnswer,
): AsyncGenerator<SseMessage[], void, void> {
  try {
    yield* messages;
  } finally {
    fetched.dispose();
    await settlement.end();
  }
}

/**
 * Answers with a stream. The status waits for the first content, so that a failure has a status of its
 * own; after ten seconds of silence it goes out with heartbeats, and failover goes on behind them.
 * @throws ApiError while no byte has left
 */
export const streamAnswer = async (answer: PendingAnswer, clock: Clock): Promise<StreamReply> => {
  const { fetched, settlement } = answer;
  const { call } = answer.checked;
  const opening = fetched.batches.then(async (opened) => {
    await settlement.commit();
    return opened;
  });
  let isSilent: boolean;
  try {
    isSilent = !(await withTimeout(clock, HEARTBEAT_MS, opening));
  } catch (error) {
    call.note(endOf(error));
    fetched.dispose();
    throw error;
  }
  call.note({ outcome: 'abandoned' });
  const live = withHeartbeat(tell(answer, opening, isSilent), call.protocol.heartbeat, clock);
  return { status: 200, messages: settled(live, answer) };
};
