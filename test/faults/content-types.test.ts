import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  CALLER_PROTOCOLS,
  UPSTREAM_PROTOCOLS,
  type UpstreamProtocolName,
} from '../../lambdas/protocols/protocol-name.ts';
import { createCountingClock } from '../support/counting-clock.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import {
  type Answered,
  type GenerationUpstream,
  startGenerationUpstream,
} from '../support/generation-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { aloneAndWithNext, modelOn, targetAt } from '../support/models.ts';
import { conversationOf, PATHS } from '../support/request-forms.ts';
import { send } from '../support/send.ts';
import { helloAt } from '../support/strict-upstream/vendors.ts';

/** Types with which public servers send a stream: proxies of vLLM, gateways, and Go, which names what it sees. */
const TYPES: [name: string, type: string | undefined][] = [
  ['no type', undefined],
  ['JSON', 'application/json'],
  ['text', 'text/plain; charset=utf-8'],
  ['bytes', 'application/octet-stream'],
];
/** What precedes the first event. */
const STARTS: Record<string, string> = {
  'at once': '',
  'behind a comment': ': waiting\n\n',
  'behind blank lines and a mark of the byte order': '\uFEFF\r\n\n\n',
};

type Cell = {
  name: string;
  protocol: UpstreamProtocolName;
  answer: (url: string) => Answered;
  stream: boolean;
};
const cells = UPSTREAM_PROTOCOLS.flatMap((protocol) =>
  TYPES.flatMap(([named, type]) =>
    Object.entries(STARTS).flatMap(([place, start]) =>
      [true, false].map((stream): Cell => {
        const form = stream ? 'streamed' : 'whole';
        return {
          ...{ protocol, stream, name: `${protocol} with ${named}, ${place}, ${form}` },
          answer: (url) => ({ type, text: start + helloAt(url) }),
        };
      }),
    ),
  ),
).map((cell, index) => ({
  ...cell,
  caller: CALLER_PROTOCOLS[index % CALLER_PROTOCOLS.length] ?? 'chat',
  model: `typed-${index}`,
}));

const WORDS = 'words of the provider';
const json = (type: string | undefined, body: object): Answered => ({
  type,
  text: JSON.stringify(body),
});
const CHAT = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
};
const minimax = (code: number): object => ({
  choices: null,
  base_resp: { status_code: code, status_msg: WORDS },
});

/** Bodies of a chat target with the caller's status, and whether another target is called instead. */
const BODIES: Record<string, [Answered, status: number, isOther: boolean]> = {
  'JSON as text': [json('text/plain', CHAT), 200, false],
  'JSON without a type': [json(undefined, CHAT), 200, false],
  'JSON as a stream': [json('text/event-stream', CHAT), 200, false],
  'an error as a stream': [
    json('text/event-stream', { error: { message: WORDS, code: 429 } }),
    ...([503, true] as const),
  ],
  'text that is neither': [{ type: 'text/plain', text: 'denied' }, 502, true],
  'a page': [{ type: 'text/html', text: 'data: {}' }, 502, true],
  'no body': [{ type: undefined, text: '' }, 502, true],
  'MiniMax with its rate limit': [json('application/json', minimax(1002)), 503, true],
  'MiniMax with the window of a plan': [json('application/json', minimax(2056)), 503, true],
  'MiniMax without money': [json('application/json', minimax(1008)), 502, true],
  'MiniMax with a refused key': [json('application/json', minimax(2049)), 500, true],
  'MiniMax with a refused parameter': [json('application/json', minimax(2013)), 400, true],
  'MiniMax that failed': [json('application/json', minimax(1000)), 502, true],
  'MiniMax in a stream': [
    { type: 'text/event-stream', text: `data: ${JSON.stringify(minimax(1002))}\n\n` },
    ...([503, true] as const),
  ],
  'MiniMax with a response': [
    json('application/json', { ...CHAT, base_resp: { status_code: 0, status_msg: '' } }),
    ...([200, false] as const),
  ],
};
const bodies = Object.entries(BODIES).map(([name, [answered, status, isOther]], index) => ({
  ...{ name, answered, status, isOther, model: `body-${index}` },
}));

let upstream: GenerationUpstream;
let fleet: Fleet;
beforeAll(async () => {
  const cellOf = new Map(cells.map((cell) => [cell.model, cell]));
  const bodyOf = new Map(bodies.map((one) => [one.model, one]));
  upstream = await startGenerationUpstream(undefined, ({ url, body }) => {
    const [, named = ''] = /\/models\/([^:]+):/.exec(url) ?? [];
    const model = String(body.model ?? named);
    const hello: Answered = { type: 'text/event-stream', text: helloAt(url) };
    return cellOf.get(model)?.answer(url) ?? bodyOf.get(model)?.answered ?? hello;
  });
  const models = [
    ...cells.map(({ protocol, model }) =>
      modelOn([targetAt(upstream.url, { protocol, model, upstream: model })], { id: `v/${model}` }),
    ),
    ...bodies.flatMap(({ model }) => aloneAndWithNext(upstream.url, model)),
  ];
  const clock = createCountingClock(Date.UTC(2026, 10, 21, 12));
  fleet = await startFleet({ models, clock, secret: CANARIES.upstreamKey });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});

const ask = (model: string, caller: (typeof CALLER_PROTOCOLS)[number], stream: boolean) =>
  send(fleet.urls[0] ?? '', PATHS[caller], {
    method: 'POST',
    headers: { 'x-api-key': fleet.key },
    body: JSON.stringify({
      ...{ model, stream },
      ...conversationOf(caller, [{ role: 'user', content: 'say hello' }], 100),
    }),
  });

describe('a stream that its server sends with another type', () => {
  test.each(cells)('the response is complete, on $name', async ({ model, caller, stream }) => {
    const { status, text } = await ask(`v/${model}`, caller, stream);
    expect(status).toBe(200);
    expect(text).toContain('Hello');
  });
});

describe('a body that is no stream', () => {
  test.each(bodies)('the caller gets $status for $name', async ({ model, status, isOther }) => {
    const only = await ask(`v/${model}`, 'chat', true);
    expect(only.status).toBe(status);
    expect(only.text.includes('Hello')).toBe(status === 200);
    const other = await ask(`two/${model}`, 'messages', false);
    expect(other.status).toBe(isOther ? 200 : status);
  });
});
