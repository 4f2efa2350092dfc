import { createHash } from 'node:crypto';
import type { Alert } from './alerts/alert.ts';
import { createDeliver, emailOf, type Receiver } from './alerts/deliver.ts';
import { type AlertEvent, alertsIn } from './alerts/read-event.ts';
import type { JsonService } from './aws/json-service.ts';
import type { Publish } from './aws/topic.ts';
import { ALERT_SLACK_URL, ALERT_WEBHOOK_SECRET, type AlertForm, type AlertsEnv } from './env.ts';
import type { AlertStore } from './stores/alert-store.ts';
import type { Clock } from './support/clock.ts';
import type { Log } from './support/log.ts';
import type { UpstreamSecrets } from './upstreams/secrets.ts';
import { MessageRejected, type PostJson } from './webhooks/send.ts';

type Queued = { form: AlertForm; alert: Alert };

/** The topic itself sends alarms by e-mail. */
const takes = (form: AlertForm, { subject }: Alert): boolean =>
  form !== 'email' || !subject.startsWith('alarm/');

export type AlertParts = {
  env: AlertsEnv;
  store: AlertStore;
  secrets: Pick<UpstreamSecrets, 'get'>;
  queue: Pick<JsonService, 'call'>;
  publish: Publish;
  post: PostJson;
  clock: Clock;
  log: Log;
};

export const ALERT_QUEUE = {
  service: 'sqs',
  targetPrefix: 'AmazonSQS',
  version: '1.0',
  timeouts: { connectMs: 1_000, requestMs: 5_000 },
} as const;

/**
 * The function that sends alerts. Alarms and lines of the log go to a queue, once for each receiver; from there each receiver
 * gets them in their order, and again until it takes them.
 */
export const createAlerts = (parts: AlertParts) => {
  const { env, store, secrets, queue, publish, post, clock, log } = parts;
  const forms = env.FORMS.split(' ') as AlertForm[];

  const fieldOf = async (name: string): Promise<string> =>
    (await secrets.get(name, new AbortController().signal)).value;

  const receiverOf = async (form: 'slack' | 'webhook'): Promise<Receiver> =>
    form === 'slack'
      ? { form, url: await fieldOf(ALERT_SLACK_URL) }
      : { form, url: env.WEBHOOK_URL ?? '', secret: await fieldOf(ALERT_WEBHOOK_SECRET) };

  const send = async ({ form, alert }: Queued): Promise<void> => {
    if (form === 'email') return publish({ topic: env.TOPIC, ...emailOf(alert) });
    await createDeliver({ receiver: await receiverOf(form), post, clock })(alert);
  };

  const sendQueued = async (body: string): Promise<void> => {
    const queued = JSON.parse(body) as Queued;
    try {
      await send(queued);
    } catch (error) {
      const failure = error instanceof Error ? error.name : '';
      const fields = { receiver: queued.form, failure };
      if (error instanceof MessageRejected) return log.warn('alert_dropped', fields);
      log.error('alert_unavailable', fields);
      throw error;
    }
  };

  const enqueue = async (form: AlertForm, alert: Alert): Promise<void> => {
    const body: Queued = { form, alert };
    await queue.call('SendMessage', {
      QueueUrl: env.QUEUE_URL,
      MessageBody: JSON.stringify(body),
      MessageGroupId: form,
      MessageDeduplicationId: createHash('sha256').update(`${form}/${alert.id}`).digest('hex'),
    });
  };

  return async (event: AlertEvent): Promise<void> => {
    for (const { body } of event.Records ?? []) if (body !== undefined) await sendQueued(body);
    for (const alert of alertsIn(event, env.RUNBOOK_URL)) {
      const receivers = forms.filter((form) => takes(form, alert));
      if (receivers.length === 0 || !(await store.claim(alert, clock.now()))) continue;
      await Promise.all(receivers.map((form) => enqueue(form, alert)));
    }
  };
};
