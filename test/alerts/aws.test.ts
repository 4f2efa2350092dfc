import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { AlertEvent } from '../../lambdas/alerts/read-event.ts';
import { createJsonService } from '../../lambdas/aws/json-service.ts';
import { createPublish } from '../../lambdas/aws/topic.ts';
import { ALERT_QUEUE, createAlerts } from '../../lambdas/create-alerts.ts';
import { ALERT_SLACK_URL, ALERT_WEBHOOK_SECRET } from '../../lambdas/env.ts';
import { createDynamoAlertStore } from '../../lambdas/stores/dynamo/alert-store.ts';
import { createDynamoClient } from '../../lambdas/stores/dynamo/client.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { createLog } from '../../lambdas/support/log.ts';
import { createReadSecret } from '../../lambdas/upstreams/read-secret.ts';
import { createSecretsManagerSecrets } from '../../lambdas/upstreams/secrets-manager.ts';
import { createPostJson, isInner } from '../../lambdas/webhooks/post.ts';
import { TABLE_NAMES } from '../../local/local-stores.ts';
import { listen } from '../../local/loopback.ts';
import { synthTemplate } from '../lib/synth.ts';
import { type DynamoRouter, startOnDynamo } from '../support/dynamo-stores.ts';
import { startEmbeddedSecrets } from '../support/embedded-secrets.ts';
import { LOCAL_AWS } from '../support/local-aws.ts';
import { verifySignature } from '../support/verify-signature.ts';
import { SECRET, startReceiver } from './receiver.ts';

const QUEUE_URL = 'https://sqs.eu-central-1.amazonaws.com/123456789012/alerts.fifo';
const TOPIC = 'arn:aws:sns:eu-central-1:123456789012:alarms';

/** What the router and the admin function log. */
const lines: string[] = [];
let router: DynamoRouter;

beforeAll(async () => {
  router = await startOnDynamo({ log: createLog((line) => lines.push(line)) });
});
afterAll(() => router.close());
beforeEach(() => void lines.splice(0));

type Queued = { MessageBody: string; MessageGroupId: string; MessageDeduplicationId: string };

/** SQS and SNS as far as the function calls them: a queue that drops what it has had, and e-mails. */
const startServices = async () => {
  const queue: Queued[] = [];
  const known = new Set<string>();
  const emails: { subject: string; text: string }[] = [];
  const { url, close } = await listen(
    createServer(async (request, response) => {
      const body = await text(request);
      const verdict = verifySignature(request, body, 'local');
      if (!verdict?.isValid) return void response.writeHead(403).end();
      if (verdict.service === 'sns') {
        const form = new URLSearchParams(body);
        expect([form.get('Action'), form.get('TopicArn')]).toEqual(['Publish', TOPIC]);
        emails.push({ subject: form.get('Subject') ?? '', text: form.get('Message') ?? '' });
        return void response.end('<PublishResponse/>');
      }
      expect(request.headers['x-amz-target']).toBe('AmazonSQS.SendMessage');
      const { QueueUrl, ...message } = JSON.parse(body) as Queued & { QueueUrl: string };
      expect(QueueUrl).toBe(QUEUE_URL);
      if (!known.has(message.MessageDeduplicationId)) queue.push(message);
      known.add(message.MessageDeduplicationId);
      response.end('{"MessageId":"1"}');
    }),
  );
  return { url, close, queue, emails };
};

/** The function, a receiver, and the queue between its calls. */
const startAlerts = async ({
  forms = 'slack webhook',
  mayConnect = (_: string): boolean => true,
} = {}) => {
  const receiver = await startReceiver();
  const services = await startServices();
  const secrets = await startEmbeddedSecrets({
    upstreams: JSON.stringify({
      [ALERT_SLACK_URL]: `${receiver.url}/slack`,
      [ALERT_WEBHOOK_SECRET]: SECRET,
    }),
  });
  const log = createLog(() => undefined);
  const aws = (endpoint: string) => ({ ...LOCAL_AWS, endpoint, clock: systemClock });
  const secretId = 'upstreams';
  const readSecret = createReadSecret(aws(secrets.endpoint));
  const call = createAlerts({
    env: {
      ...{ FORMS: forms, WEBHOOK_URL: `${receiver.url}/hook`, TOPIC, QUEUE_URL },
      ...{ HISTORY_TABLE: TABLE_NAMES.history, UPSTREAM_SECRET: secretId },
      RUNBOOK_URL: 'https://example.com/runbooks',
    },
    store: createDynamoAlertStore({
      client: createDynamoClient(aws(router.endpoints.dynamo)),
      tableName: TABLE_NAMES.history,
    }),
    secrets: createSecretsManagerSecrets({ readSecret, secretId, clock: systemClock, log }),
    queue: createJsonService(ALERT_QUEUE, aws(services.url)),
    publish: createPublish(aws(services.url)),
    post: createPostJson(mayConnect),
    ...{ clock: systemClock, log },
  });
  /** As SQS does with a queue in order: what fails stays, and ends the turn of its group. */
  const deliver = async () => {
    const blocked = new Set<string>();
    for (const message of services.queue.splice(0)) {
      const group = message.MessageGroupId;
      const isTaken =
        !blocked.has(group) &&
        (await call({ Records: [{ body: message.MessageBody }] }).then(
          () => true,
          () => false,
        ));
      if (isTaken) continue;
      blocked.add(group);
      services.queue.push(message);
    }
  };
  return {
    ...{ receiver, call, deliver, ...services },
    send: async (event: AlertEvent) => {
      await call(event);
      await deliver();
    },
    close: async () => {
      await Promise.all([services.close(), secrets.close()]);
    },
  };
};

/** The description that the stack gives to an alarm. */
const descriptionOf = (id: string): string => {
  const alarms = synthTemplate({ alarmEmail: 'a@example.com' }).findResources(
    'AWS::CloudWatch::Alarm',
    { Properties: { AlarmName: `Router-${id}` } },
  );
  const [join] = Object.values(alarms).map(
    ({ Properties }) => Properties.AlarmDescription['Fn::Join'] as [string, unknown[]],
  );
  return (join?.[1] ?? []).map((part) => (typeof part === 'string' ? part : 'x')).join('');
};

/** What SNS calls with when CloudWatch changes the state of an alarm, by AWS's published example. */
const alarmEvent = (id: string, state: 'ALARM' | 'OK', at: string) => ({
  Records: [
    {
      EventSource: 'aws:sns',
      EventVersion: '1.0',
      EventSubscriptionArn: `${TOPIC}:21be56ed-a058-49f5-8c98-aedd2564c486`,
      Sns: {
        ...{ Type: 'Notification', MessageId: '95df01b4-ee98-5cb9-9903-4c221d41eb5e' },
        ...{ TopicArn: TOPIC, Subject: `${state}: "Router-${id}" in EU (Frankfurt)` },
        Message: JSON.stringify({
          ...{ AlarmName: `Router-${id}`, AlarmDescription: descriptionOf(id) },
          ...{ AWSAccountId: '123456789012', NewStateValue: state, OldStateValue: 'OK' },
          NewStateReason: 'Threshold Crossed: 1 out of the last 1 datapoints was greater.',
          ...{ StateChangeTime: at, Region: 'EU (Frankfurt)' },
          AlarmArn: `arn:aws:cloudwatch:eu-central-1:123456789012:alarm:Router-${id}`,
          Trigger: { MetricName: 'UpstreamCredentialRefused', Namespace: 'ModelRouter' },
        }),
        ...{ Timestamp: at, SignatureVersion: '1', MessageAttributes: {} },
      },
    },
  ],
});

const FILTERS = synthTemplate({ alertSlack: 'secret' }).findResources(
  'AWS::Logs::SubscriptionFilter',
);
const [PATTERN = ''] = Object.values(FILTERS).map(({ Properties }) =>
  String(Properties.FilterPattern),
);
let events = 0;

/** What CloudWatch calls with for the lines that match the filter of the stack. */
const linesEvent = (timestamp = Date.now()): AlertEvent => {
  const wanted = [...PATTERN.matchAll(/\$\.event = "(\w+)"/g)].map(([, event]) => event);
  const matching = lines.splice(0).filter((line) => wanted.includes(JSON.parse(line).event));
  const logEvents = matching.map((message) => {
    events += 1;
    return { id: String(events).padStart(56, '3'), timestamp, message };
  });
  const data = {
    ...{ messageType: 'DATA_MESSAGE', owner: '123456789012', logGroup: 'router' },
    ...{ logStream: '2026/11/28/[$LATEST]a', subscriptionFilters: ['RouterLines'], logEvents },
  };
  return { awslogs: { data: gzipSync(JSON.stringify(data)).toString('base64') } };
};

const post = async (path: string, body: object, headers: Record<string, string> = {}) => {
  const response = await fetch(`${router.baseUrl}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return (await response.json()) as { id: string; key: string };
};
const ask = (key: string, content: string) =>
  post(
    '/v1/chat/completions',
    { model: 'aurora/scribe-1', messages: [{ role: 'user', content }] },
    { authorization: `Bearer ${key}` },
  );

describe('alerts on AWS', () => {
  test('an alarm is announced once with its runbook, and once when it is resolved', async () => {
    const { receiver, send, emails, close } = await startAlerts({ forms: 'email slack webhook' });
    const id = 'upstream-credential-refused';
    const fires = alarmEvent(id, 'ALARM', '2026-11-28T01:40:31.123+0000');
    // An alarm that is created, or whose notification is repeated.
    await send(alarmEvent(id, 'OK', '2026-11-28T01:30:00.000+0000'));
    await send(fires);
    await send(fires);
    const ends = alarmEvent(id, 'OK', '2026-11-28T02:10:31.123+0000');
    await send(ends);
    await send(ends);
    const title = "A provider rejects the router's credentials.";
    expect(receiver.received).toMatchObject([
      { state: 'firing', title, runbook: expect.stringMatching(/^https:.*#upstream-cred/) },
      { state: 'resolved', title },
    ]);
    expect(receiver.messages.map((message) => message.split('\n')[0])).toEqual([
      `*FIRING: ${title}*`,
      `*Resolved: ${title}*`,
    ]);
    // The topic itself sends alarms by e-mail.
    expect(emails).toEqual([]);
    expect(receiver.faults).toEqual([]);
    await send(alarmEvent(id, 'ALARM', '2026-11-29T01:40:31.123+0000'));
    expect(receiver.received).toHaveLength(3);
    await close();
  });

  test('thresholds of a plan and a revoked key are announced once each to every receiver', async () => {
    const { receiver, send, emails, close } = await startAlerts({ forms: 'email slack webhook' });
    await post('/admin/plans', { id: 'tiny', rpm: 100, quota: 2, period: 'day' });
    const { id, key } = await post('/admin/projects/local/keys', { plan: 'tiny' });
    await ask(key, 'say hello');
    await ask(key, 'say hello');
    await post(`/admin/projects/local/keys/${id}/revoke`, {});
    const titles = [
      `50 % of the quota of key ${id} are used`,
      `100 % of the quota of key ${id} are used`,
      `Key ${id} was revoked`,
    ];
    await expect.poll(() => lines.join('')).toMatch(/keys\.revoke/);
    await expect.poll(() => lines.join('')).toMatch(/"threshold":100/);
    const event = linesEvent();
    await send(event);
    await send(event);
    expect(receiver.titles().toSorted()).toEqual(titles.toSorted());
    expect(emails.map(({ subject }) => subject).toSorted()).toEqual(
      titles.map((title) => `Notice: ${title}`).toSorted(),
    );
    expect(receiver.messages).toHaveLength(3);
    expect(receiver.faults).toEqual([]);
    await close();
  });

  test('a target that is down and back is announced once each, however many processes log it', async () => {
    const { receiver, send, close } = await startAlerts();
    const keys: string[] = [];
    for (const project of ['one', 'two', 'three']) {
      await post('/admin/projects', { id: project });
      keys.push((await post(`/admin/projects/${project}/keys`, { plan: 'local' })).key);
    }
    const askUntil = async (content: string, event: string) => {
      for (let count = 0; count < 60 && !lines.join('').includes(event); count += 1) {
        await Promise.all(keys.map((key) => ask(key, content)));
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    };
    await askUntil('fault status=500', 'breaker_opened');
    lines.push(...lines);
    await send(linesEvent());
    await askUntil('say hello', 'breaker_closed');
    lines.push(...lines);
    await send(linesEvent());
    const ofTarget = receiver.titles().filter((title) => title.startsWith('Target aurora/'));
    expect(ofTarget).toEqual(['Target aurora/scribe-1 is down', 'Target aurora/scribe-1 is back']);
    await close();
  });

  test('a receiver that is away gets its alerts later in their order, and the other one at once', async () => {
    const { receiver, call, deliver, queue, close } = await startAlerts();
    const id = 'failovers';
    await call(alarmEvent(id, 'ALARM', '2026-11-28T03:00:00.000+0000'));
    receiver.answerWith((response, request) =>
      response.writeHead(request.url === '/slack' ? 204 : 503).end(),
    );
    await deliver();
    await call(alarmEvent(id, 'OK', '2026-11-28T03:10:00.000+0000'));
    expect(queue.map(({ MessageGroupId }) => MessageGroupId)).toEqual([
      ...['webhook', 'slack', 'webhook'],
    ]);
    receiver.answerWith(undefined);
    await deliver();
    expect(receiver.received.map(({ state }) => state)).toEqual(['firing', 'resolved']);
    expect(queue).toEqual([]);
    await close();
  });

  test('a receiver that rejects an alert gets the next one', async () => {
    const { receiver, send, close } = await startAlerts({ forms: 'webhook' });
    receiver.answerWith((response) => response.writeHead(410).end());
    await send(alarmEvent('throttles', 'ALARM', '2026-11-28T03:00:00.000+0000'));
    receiver.answerWith(undefined);
    await send(alarmEvent('throttles', 'OK', '2026-11-28T03:10:00.000+0000'));
    expect(receiver.received.map(({ state }) => state)).toEqual(['resolved']);
    await close();
  });

  test('as it is deployed the function calls no inner address', async () => {
    const mayConnect = (address: string) => !isInner(address);
    const { receiver, send, queue, close } = await startAlerts({ forms: 'webhook', mayConnect });
    await send(alarmEvent('concurrency', 'ALARM', '2026-11-28T03:00:00.000+0000'));
    expect(receiver.requests).toEqual([]);
    expect(queue).toHaveLength(1);
    await close();
  });
});
