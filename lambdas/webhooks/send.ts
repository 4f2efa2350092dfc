import { type Clock, pause } from '../support/clock.ts';
import { type Signed, signatureOf } from './sign.ts';

/** Sends a JSON text. @throws Error if there is no answer */
export type PostJson = (
  url: string,
  body: string,
  headers: Record<string, string>,
) => Promise<{ status: number }>;

export type Message = {
  url: string;
  /** JSON. */
  body: string;
  /** Absent for a receiver that verifies nothing. */
  signed?: Signed | undefined;
};

/** The receiver rejected the message for what it is: a repetition would be too. */
export class MessageRejected extends Error {
  override name = 'MessageRejected';
}

/** The receiver is away, slow or busy. */
class ReceiverUnavailable extends Error {
  override name = 'ReceiverUnavailable';
}

/** Before each try. Milliseconds. */
const PAUSES_MS = [0, 1_000, 4_000];
/** Other answers of 4xx say that this message will never be taken. */
const RETRYABLE = [408, 425, 429];

type Parts = { post: PostJson; clock: Clock };

/** Undefined once the receiver has taken it. @throws MessageRejected */
const tryOnce = async ({ post, clock }: Parts, { url, body, signed }: Message) => {
  const signature = signed && signatureOf(signed, body, clock.now());
  const answer = await post(url, body, { 'content-type': 'application/json', ...signature }).catch(
    (cause: unknown) => new Error('It did not answer.', { cause }),
  );
  if (answer instanceof Error) return answer;
  const { status } = answer;
  if (status >= 200 && status < 300) return undefined;
  const cause = new Error(`It answered ${status}.`);
  if (status >= 500 || RETRYABLE.includes(status)) return cause;
  throw new MessageRejected('The receiver rejected the message.', { cause });
};

/**
 * Sends a message up to `tries` times (three by default), until the receiver takes it.
 * @throws MessageRejected, ReceiverUnavailable
 */
export const createSend =
  (parts: Parts) =>
  async (message: Message, tries = PAUSES_MS.length): Promise<void> => {
    let cause: Error | undefined;
    for (const ms of PAUSES_MS.slice(0, tries)) {
      if (ms > 0) await pause(parts.clock, ms);
      cause = await tryOnce(parts, message);
      if (cause === undefined) return;
    }
    throw new ReceiverUnavailable('The receiver did not take the message.', { cause });
  };
