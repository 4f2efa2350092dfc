import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  CALLER_PROTOCOLS,
  UPSTREAM_PROTOCOLS,
  type UpstreamProtocolName,
} from '../../lambdas/protocols/protocol-name.ts';
import { createCountingClock } from '../support/counting-clock.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import {
  type GenerationUpstream,
  startGenerationUpstream,
} from '../support/generation-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { aloneAndWithNext, modelOn, targetAt } from '../support/models.ts';
import { conversationOf, PATHS } from '../support/request-forms.ts';
import { send } from '../support/send.ts';
import { helloAt } from '../support/strict-upstream/vendors.ts';

const WORDS = 'words of the provider';

/** Errors as gateways send them in a 200 response of any protocol. */
const ERRORS: Record<string, object> = {
  object: { error: { message: WORDS, type: 'server_error', code: 'server_error' } },
  text: { error: WORDS },
  typed: { type: 'response.error', error: { message: WORDS } },
  flat: { type: 'error', message: WORDS, code: 'server_error' },
};

/** Errors that reject the request, with a part of what the caller reads. */
const REJECTIONS: Record<string, [object, string]> = {
  'of another protocol': [
    { error: { message: WORDS, type: 'invalid_request_error' } },
    `The model's provider rejected the request: ${WORDS}`,
  ],
  'with a status': [
    { error: { message: WORDS, code: 400 } },
    `The model's provider rejected the request: ${WORDS}`,
  ],
};
const failed = (code: string) => ({
  type: 'response.failed',
  response: { object: 'response', status: 'failed', error: { code, message: WORDS } },
});
const FAILED: Record<string, [object, string]> = {
  invalid_prompt: [failed('invalid_prompt'), `The model's provider rejected the request: ${WORDS}`],
  context_length_exceeded: [failed('context_length_exceeded'), 'prompt is too long'],
};

/** Errors that state more than that the provider failed, with the status and the retry-after that the caller gets. */
type Stated = { message: object; status: number; after?: string; doNotRetry?: true };
const busy = (message: object, after = '10'): Stated => ({ message, status: 503, after });
const messagesError = (type: string) => ({ type: 'error', error: { type, message: WORDS } });
const RETRY_INFO = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '22s' };
const again = { type: 'tokens', message: `${WORDS}. Please try again in 6.5s.` };
const NOW = Date.UTC(2026, 10, 21, 12);
const ofOpenRouter = (metadata: object, after: string) =>
  busy({ error: { code: 429, message: WORDS, metadata } }, after);
const inWords = (wait: string, after: string) =>
  busy({ error: { code: 'rate_limit_exceeded', message: `${WORDS}. ${wait}` } }, after);
const STATED: Record<string, Stated> = {
  overloaded: busy(messagesError('overloaded_error')),
  'rate limit of messages': busy(messagesError('rate_limit_error')),
  'rate limit of chat': busy({ error: { ...again, code: 'rate_limit_exceeded' } }, '7'),
  'rate limit of Groq, in minutes': inWords('Please try again in 0m41.5s.', '42'),
  'rate limit of Azure, in words': inWords('Please retry after 1 minute.', '60'),
  'rate limit of Gemini in words': inWords('Please retry in 22.1s.', '23'),
  'rate limit of GitHub, in words': inWords('Please wait 45 seconds before retrying.', '45'),
  'rate limit in words without a time': inWords('Please wait 3 more turns.', '10'),
  "OpenRouter's own limit": ofOpenRouter(
    { headers: { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': String(NOW + 42_000) } },
    '42',
  ),
  'limit behind OpenRouter': ofOpenRouter(
    { raw: JSON.stringify({ error: { message: WORDS } }), retry_after_seconds: 31 },
    '31',
  ),
  'used-up window of a plan': busy(
    { error: { type: 'rate_limit_error', message: WORDS, resets_in_seconds: 35 } },
    '35',
  ),
  'rate limit of a gateway': busy({ error: { code: 429, message: WORDS } }),
  'rate limit of Google': busy(
    { error: { code: 8, status: 'RESOURCE_EXHAUSTED', message: WORDS, details: [RETRY_INFO] } },
    '22',
  ),
  'flat rate limit': busy({ object: 'error', message: WORDS, code: '429' }),
  unavailable: busy({ error: { status: 'UNAVAILABLE', message: WORDS } }),
  'used-up account': {
    message: { error: { code: 'insufficient_quota', message: WORDS } },
    ...{ status: 502, doNotRetry: true },
  },
  'rejected credential': {
    message: messagesError('authentication_error'),
    ...{ status: 500, doNotRetry: true },
  },
};
/** Bodies of one protocol only, and those that are no message of a stream. */
const failedOf = (code: string) => ({ ...failed(code).response, output: [] });
const STATED_ON: [UpstreamProtocolName, string, Stated, isWhole: boolean][] = [
  ['responses', 'failed event', busy(failed('rate_limit_exceeded')), false],
  ['responses', 'overloaded event', busy(failed('server_is_overloaded')), false],
  ['responses', 'failed body', busy(failedOf('rate_limit_exceeded')), true],
  [
    'chat',
    'failed choice',
    busy({
      choices: [{ index: 0, delta: {}, finish_reason: 'error', error: { code: 429 } }],
    }),
    false,
  ],
  ...(['chat', 'messages', 'responses'] as const).map((protocol): (typeof STATED_ON)[number] => [
    protocol,
    'body without an error',
    busy({ __type: 'ThrottlingException', message: WORDS }),
    true,
  ]),
];
const stated = [
  ...UPSTREAM_PROTOCOLS.flatMap((protocol) =>
    Object.entries(STATED).flatMap(([form, one]) =>
      [false, true].map((isWhole): (typeof STATED_ON)[number] => [protocol, form, one, isWhole]),
    ),
  ),
  ...STATED_ON,
].map(([protocol, form, one, isWhole], index) => {
  const caller = CALLER_PROTOCOLS[index % CALLER_PROTOCOLS.length] ?? 'chat';
  const name = `${form} on ${protocol}, ${isWhole ? 'whole' : 'streamed'}, for ${caller}`;
  return { ...one, protocol, isWhole, caller, name, model: `stated-${index}` };
});

const cellsOf = (
  rows: [string, object, string][],
  isFirst: boolean,
  protocols: readonly UpstreamProtocolName[] = UPSTREAM_PROTOCOLS,
) =>
  protocols.flatMap((protocol) =>
    rows.flatMap(([form, message, text]) =>
      CALLER_PROTOCOLS.map((caller) => {
        const name = `${form} on ${protocol} for ${caller}`;
        return { protocol, message, isFirst, text, caller, name, model: name.replaceAll(' ', '-') };
      }),
    ),
  );
const UNAVAILABLE = 'The model is temporarily unavailable.';
const forms = Object.entries(ERRORS);
const rows = (all: Record<string, [object, string]>) =>
  Object.entries(all).map(([form, [message, text]]): [string, object, string] => [
    form,
    message,
    text,
  ]);
const broken = cellsOf(
  forms.map(([form, message]) => [form, message, UNAVAILABLE]),
  false,
);
const rejected = [
  ...cellsOf(rows(REJECTIONS), true),
  ...cellsOf(rows(FAILED), true, ['responses']),
];

const messageOf = (message: object) => `data: ${JSON.stringify(message)}\n\n`;

let upstream: GenerationUpstream;
let fleet: Fleet;
beforeAll(async () => {
  const byModel = new Map([...broken, ...rejected].map((cell) => [cell.model, cell]));
  const statedOf = new Map(stated.map((cell) => [cell.model, cell]));
  upstream = await startGenerationUpstream(undefined, ({ url, body }) => {
    const [, named = ''] = /\/models\/([^:]+):/.exec(url) ?? [];
    const model = String(body.model ?? named);
    if (model === 'second') return { type: 'text/event-stream', text: helloAt(url) };
    const one = statedOf.get(model);
    if (one?.isWhole) return { type: 'application/json', text: JSON.stringify(one.message) };
    if (one) return { type: 'text/event-stream', text: messageOf(one.message) };
    const cell = byModel.get(model);
    if (!cell) throw new Error(`no model for ${url}`);
    const error = messageOf(cell.message);
    const hello = helloAt(url);
    const at = cell.isFirst ? 0 : hello.indexOf('\n\n', hello.indexOf('Hello')) + 2;
    return {
      type: 'text/event-stream',
      text: `${hello.slice(0, at)}${error}${hello.slice(at)}`,
    };
  });
  const models = [
    ...[...byModel.values()].map(({ protocol, model }) =>
      modelOn([targetAt(upstream.url, { protocol, model, upstream: model })], { id: `v/${model}` }),
    ),
    ...stated.flatMap(({ protocol, model }) => aloneAndWithNext(upstream.url, model, protocol)),
  ];
  const clock = createCountingClock(NOW);
  fleet = await startFleet({ models, clock, secret: CANARIES.upstreamKey });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});

const ask = ({ caller, model }: Pick<(typeof broken)[number], 'caller' | 'model'>, vendor = 'v') =>
  send(fleet.urls[0] ?? '', PATHS[caller], {
    method: 'POST',
    headers: { 'x-api-key': fleet.key },
    body: JSON.stringify({
      ...{ model: `${vendor}/${model}`, stream: true },
      ...conversationOf(caller, [{ role: 'user', content: 'say hello' }], 100),
    }),
  });

describe('an error that a provider sends between the messages of a stream', () => {
  test.each(broken)(
    'an error as $name fails the response in the words of the router',
    async (cell) => {
      const { status, text } = await ask(cell);
      expect(text).toContain(cell.text);
      expect(status).toBe(502);
      expect(text).not.toContain(WORDS);
    },
  );
});

describe('an error that a provider sends as the first message of a 200 response', () => {
  test.each(rejected)('a rejection $name is a 400 with its reason', async (cell) => {
    const { status, text } = await ask(cell);
    expect(text).toContain(cell.text);
    expect(status).toBe(400);
    expect(text).toContain('invalid_request_error');
  });
});

describe('an error that states a limit, the load or the account in a 200 response', () => {
  test.each(stated)(
    'an error that states its class has the status of that class, as $name',
    async (cell) => {
      const { status, headers, text } = await ask(cell);
      expect({ status, after: headers['retry-after'] }).toEqual({
        status: cell.status,
        after: cell.after,
      });
      expect(headers['x-should-retry']).toBe(cell.doNotRetry && 'false');
      expect(text).toContain('api_error');
      expect(text).not.toContain(WORDS);
      const other = await ask(cell, 'two');
      expect(other.status).toBe(200);
      expect(other.text).toContain('Hello');
    },
  );
});
