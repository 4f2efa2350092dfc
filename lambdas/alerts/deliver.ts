import { createHash, createHmac } from 'node:crypto';
import { type Clock, pause } from '../support/clock.ts';
import type { Alert } from './alert.ts';

/** Slack's form of a message, or a webhook that is signed by the rules of standard-webhooks. */
export type Receiver =
  | { form: 'slack'; url: string }
  | { form: 'webhook'; url: string; secret: string };

/** Sends a JSON text. @throws Error if there is no answer */
export type PostJson = (
  url: string,
  body: string,
  headers: Record<string, string>,
) => Promise<{ status: number }>;

/** The receiver rejected the alert for what it is: a repetition would be too. */
export class AlertRejected extends Error {
  override name = 'AlertRejected';
}

/** The receiver is away, slow or busy. */
class ReceiverUnavailable extends Error {
  override name = 'ReceiverUnavailable';
}

const WORDS: Record<Alert['state'], string> = {
  firing: 'FIRING',
  resolved: 'Resolved',
  notice: 'Notice',
};

/** https://api.slack.com: three signs are markup. */
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const slackBody = ({ state, title, text, runbook }: Alert): string => {
  const link = runbook === undefined ? [] : [`<${runbook}|Runbook>`];
  return JSON.stringify({
    text: [`*${WORDS[state]}: ${escaped(title)}*`, escaped(text), ...link].join('\n'),
  });
};

const webhookBody = ({ id: _, at, state, ...data }: Alert): string =>
  JSON.stringify({
    type: `alert.${state}`,
    timestamp: new Date(at).toISOString(),
    data: { state, ...data },
  });

const SECRET = /^whsec_(?<key>[A-Za-z0-9+/]{32,100}={0,2})$/;

/** The key of a signature: 24 to 64 bytes. @throws Error */
export const readSigningSecret = (text: string): Buffer => {
  const key = Buffer.from(SECRET.exec(text)?.groups?.key ?? '', 'base64');
  if (key.length >= 24 && key.length <= 64) return key;
  throw new Error('The signing secret must be whsec_ and 24 to 64 bytes in base64.');
};

/** By the rules of standard-webhooks: `id.timestamp.body`, with the time of this try. */
const signatureOf = (secret: string, alert: Alert, body: string, now: number) => {
  const id = `alert_${createHash('sha256').update(alert.id).digest('hex').slice(0, 32)}`;
  const timestamp = String(Math.floor(now / 1_000));
  const hmac = createHmac('sha256', readSigningSecret(secret));
  const signature = hmac.update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  };
};

/** Before each try. Milliseconds. */
const PAUSES_MS = [0, 1_000, 4_000];
/** Other answers of 4xx say that this alert will never be taken. */
const RETRYABLE = [408, 425, 429];

type Parts = { receiver: Receiver; post: PostJson; clock: Clock };

/** Undefined once the receiver has taken it. @throws AlertRejected */
const tryOnce = async (
  { receiver, post, clock }: Parts,
  alert: Alert,
): Promise<Error | undefined> => {
  const { form, url } = receiver;
  const body = form === 'slack' ? slackBody(alert) : webhookBody(alert);
  const signed = form === 'webhook' && signatureOf(receiver.secret, alert, body, clock.now());
  const answer = await post(url, body, { 'content-type': 'application/json', ...signed }).catch(
    (cause: unknown) => new Error('It did not answer.', { cause }),
  );
  if (answer instanceof Error) return answer;
  const { status } = answer;
  if (status >= 200 && status < 300) return undefined;
  const cause = new Error(`It answered ${status}.`);
  if (status >= 500 || RETRYABLE.includes(status)) return cause;
  throw new AlertRejected('The receiver rejected the alert.', { cause });
};

/**
 * Sends an alert, three times if the receiver does not take it. The id is the same in each, also of a later call.
 * @throws AlertRejected, ReceiverUnavailable
 */
export const createDeliver =
  (parts: Parts) =>
  async (alert: Alert): Promise<void> => {
    let cause: Error | undefined;
    for (const ms of PAUSES_MS) {
      if (ms > 0) await pause(parts.clock, ms);
      cause = await tryOnce(parts, alert);
      if (cause === undefined) return;
    }
    throw new ReceiverUnavailable('The receiver did not take the alert.', { cause });
  };
