import { gunzipSync } from 'node:zlib';
import type { CheckedCall } from '../endpoints/check-call.ts';
import type { Call, EncodedReply, Reply, StreamReply } from '../endpoints/endpoint.ts';
import { limitHeaders } from '../metering/limits.ts';
import type { Meter } from '../metering/meter.ts';
import { HEARTBEAT_MS, type MessageBatches, withHeartbeat } from '../protocols/streams/sse.ts';
import type { AnswerEntry, Unit } from '../stores/answer-store.ts';
import { type Clock, withTimeout } from '../support/clock.ts';
import { type ApiError, retryLater, toApiError } from '../support/errors.ts';
import { suffixOf } from '../support/ids.ts';
import type { ResumePoint } from './attempt.ts';
import { isUnstored, NOT_STORED_COMMENT } from './keeper.ts';
import type { Running } from './own.ts';
import type { Recording } from './recording.ts';
import { assertResumable, resumeBehind } from './resume.ts';

/** A response that another request generated. */
type Source = { owner: string; requestId: string };

/**
 * Headers of a repeat: the limits, of which it uses none, and the id of the request that generated the
 * response. The read also rejects a key that ended, which no reservation checks here, and charges the `unit` of a
 * response whose process died between storing it and charging for it.
 * @throws ApiError 401, 429 or 503
 */
export const createRepeatHeaders =
  ({ meter, clock }: { meter: Pick<Meter, 'admitFree' | 'usage'>; clock: Clock }) =>
  async (call: Call, { requestId }: Source, unit?: Unit): Promise<Record<string, string>> => {
    const { caller, protocol } = call;
    call.note({ replayed: true });
    await meter.admitFree(caller);
    const { minute, period } = await meter.usage(caller, unit);
    return {
      ...limitHeaders({ requests: minute, quota: period }, clock.now()),
      ...protocol.limitHeaders(minute),
      'idempotent-replayed': 'true',
      'idempotent-request-id': requestId,
    };
  };

async function* asMessages(texts: AsyncIterable<string>): MessageBatches {
  for await (const text of texts) yield [{ text }];
}

const behind = (texts: AsyncIterable<string>, point: ResumePoint | undefined) =>
  point ? resumeBehind(texts, point) : texts;

/** Ends with the recording, however early its reader leaves: the access log then has all that the request used. */
async function* untilRecorded(messages: MessageBatches, recording: Recording): MessageBatches {
  try {
    yield* messages;
  } finally {
    await recording.ended;
  }
}

/** A stream as its first caller gets it. */
export const readOwn = (started: Running, call: Call, clock: Clock): MessageBatches =>
  untilRecorded(readLive(started, call, { clock }), started.recording);

/** A stream as one of its readers gets it, from the beginning and then live. */
export const readLive = (
  { recording }: Running,
  { protocol: { heartbeat } }: Call,
  { clock, resumePoint }: { clock: Clock; resumePoint?: ResumePoint | undefined },
): MessageBatches => {
  async function* read(): MessageBatches {
    // A watchdog that counts bytes of the body does not count the headers.
    if (recording.isEmpty()) yield [heartbeat];
    yield* asMessages(behind(recording.read(), resumePoint));
  }
  return withHeartbeat(read(), heartbeat, clock);
};

async function* only(text: string) {
  yield text;
}

/** Not run again instead: the first response was charged. */
const unreadable = (): ApiError =>
  retryLater('The kept response cannot be read at the moment. Repeat the request later.');

/** The response of a finished request. @throws ApiError 409 or 503 */
export const replyOfKept = (
  { owner, answer }: AnswerEntry,
  resumePoint: ResumePoint | undefined,
): StreamReply | EncodedReply => {
  if (!answer?.body) throw unreadable();
  const text = gunzipSync(answer.body).toString();
  if (!answer.isStream) return { status: 200, json: text };
  assertResumable(resumePoint, owner);
  return { status: 200, messages: asMessages(behind(only(text), resumePoint)) };
};

/** The messages of a stream whose status was sent before its reply is known. */
async function* messagesOfLate(
  reply: Promise<Reply>,
  { call: { protocol, requestId }, model }: CheckedCall,
  now: number,
): MessageBatches {
  // A watchdog that counts bytes of the body does not count the headers.
  yield [protocol.heartbeat];
  let opened: Reply;
  try {
    opened = await reply;
  } catch (error) {
    const created = Math.floor(now / 1000);
    const ids = { id: suffixOf(requestId), model: model.id };
    // An error has no counts.
    const meta = { ...ids, created, now: () => created, estimateInput: () => 0 };
    yield protocol.encodeStreamError(toApiError(error), requestId, meta, '');
    return;
  }
  // Its headers come too late.
  if (isUnstored(opened)) yield [NOT_STORED_COMMENT];
  if ('messages' in opened) yield* opened.messages;
}

/** The reply to a streamed request; after 10 s its status is sent and heartbeats follow. */
export const replyLate = async (
  reply: Promise<Reply>,
  checked: CheckedCall,
  clock: Clock,
): Promise<Reply> => {
  const opened = await withTimeout(clock, HEARTBEAT_MS, reply);
  if (opened) return opened.value;
  const { heartbeat } = checked.call.protocol;
  const messages = messagesOfLate(reply, checked, clock.now());
  return { status: 200, messages: withHeartbeat(messages, heartbeat, clock) };
};
