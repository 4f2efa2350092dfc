import { gzipSync } from 'node:zlib';
import type { Cost, Keeper, Reply } from '../endpoints/endpoint.ts';
import type { CallerProtocol } from '../protocols/protocol.ts';
import { formatSse, type SseMessage } from '../protocols/streams/sse.ts';
import type { Answer, AnswerStore } from '../stores/answer-store.ts';
import { type Clock, tryFor } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import type { Recording } from './recording.ts';
import { eventId } from './resume.ts';

/** A store that is slower delays no response further; two attempts of a table fit in. */
const STORE_TIMEOUT_MS = 3_000;

/** An empty response is kept for the repeats that wait for it: longer than their reads are apart (run-once.ts). */
const EMPTY_KEPT_MS = 5_000;

/** The response is sent, but a repeat would run again. */
export const NOT_STORED = { 'idempotent-stored': 'false' };
export const isUnstored = ({ headers = {} }: Reply): boolean => 'idempotent-stored' in headers;

/** The same in a stream whose headers are sent. */
export const NOT_STORED_COMMENT: SseMessage = { comment: 'idempotent-stored: false' };

/** Gives each event an id. */
const createNumbering = (owner: string) => {
  let event = 0;
  return (message: SseMessage): SseMessage => {
    if (!('data' in message)) return message;
    event += 1;
    return { id: eventId(owner, event), ...message };
  };
};

export const createKeeper = (parts: {
  id: string;
  /** Request id of this attempt. */
  owner: string;
  recording: Recording;
  protocol: Pick<CallerProtocol, 'heartbeat' | 'isTerminal'>;
  answers: Pick<AnswerStore, 'finish'>;
  clock: Clock;
  log: Log;
  keepMs: number;
  hasEventIds: boolean;
}): Keeper & { /** Whether the response is stored. */ isKept(): boolean } => {
  const { id, owner, recording, protocol, answers, clock, log, keepMs } = parts;
  const number = parts.hasEventIds ? createNumbering(owner) : (message: SseMessage) => message;
  let isKept = false;

  const mayKeep = ({ isFree, isEmpty }: Cost): boolean => isEmpty() || !isFree();

  const store = async (answer: Omit<Answer, 'isEmpty'>, cost: Cost): Promise<void> => {
    const isEmpty = cost.isEmpty();
    const expiresAt = clock.now() + (isEmpty ? EMPTY_KEPT_MS : keepMs);
    const finishing = answers.finish(id, owner, { ...answer, isEmpty }, expiresAt);
    isKept = (await tryFor(clock, STORE_TIMEOUT_MS, finishing))?.value === true;
    if (!isKept) log.warn('answer_not_stored', { requestId: owner });
  };

  return {
    isKept: () => isKept,
    async *keepStream(messages, cost) {
      for await (const batch of messages) {
        // Each reader of the recording gets heartbeats when it needs them.
        const sent = batch.filter((message) => message !== protocol.heartbeat);
        const text = sent.map((message) => formatSse(number(message))).join('');
        if (sent.some(protocol.isTerminal) && mayKeep(cost)) {
          await store({ isStream: true, body: recording.compress(text) }, cost);
          if (!isKept) recording.append(formatSse(NOT_STORED_COMMENT));
        }
        recording.append(text);
        yield batch;
      }
    },
    keepWhole: async (reply, cost) => {
      if (!mayKeep(cost)) return reply;
      await store({ isStream: false, body: gzipSync(reply.json) }, cost);
      return isKept ? reply : { ...reply, headers: { ...reply.headers, ...NOT_STORED } };
    },
  };
};
