import { createHash } from 'node:crypto';
import type { Clock } from '../support/clock.ts';
import { createSend, type Message, type PostJson } from '../webhooks/send.ts';
import type { Alert } from './alert.ts';

/** Slack's form of a message, or a webhook that is signed by the rules of standard-webhooks. */
export type Receiver =
  | { form: 'slack'; url: string }
  | { form: 'webhook'; url: string; secret: string };

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

/** The same as an e-mail. */
export const emailOf = ({ state, title, text, runbook }: Alert) => ({
  subject: `${WORDS[state]}: ${title}`,
  text: [title, text, ...(runbook === undefined ? [] : [`Runbook: ${runbook}`])].join('\n'),
});

const webhookBody = ({ id: _, at, state, ...data }: Alert): string =>
  JSON.stringify({
    type: `alert.${state}`,
    timestamp: new Date(at).toISOString(),
    data: { state, ...data },
  });

const messageOf = (receiver: Receiver, alert: Alert): Message => {
  const { form, url } = receiver;
  if (form === 'slack') return { url, body: slackBody(alert) };
  const id = `alert_${createHash('sha256').update(alert.id).digest('hex').slice(0, 32)}`;
  return { url, body: webhookBody(alert), signed: { id, secrets: [receiver.secret] } };
};

type Parts = { receiver: Receiver; post: PostJson; clock: Clock };

/**
 * Sends an alert, three times if the receiver does not take it. The id is the same in each, also of a later call.
 * @throws MessageRejected, ReceiverUnavailable
 */
export const createDeliver = ({ receiver, ...parts }: Parts) => {
  const send = createSend(parts);
  return (alert: Alert): Promise<void> => send(messageOf(receiver, alert));
};
