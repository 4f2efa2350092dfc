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
import { modelOn, targetAt } from '../support/models.ts';
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

let upstream: GenerationUpstream;
let fleet: Fleet;
beforeAll(async () => {
  const byModel = new Map([...broken, ...rejected].map((cell) => [cell.model, cell]));
  upstream = await startGenerationUpstream(undefined, ({ url, body }) => {
    const [, named = ''] = /\/models\/([^:]+):/.exec(url) ?? [];
    const cell = byModel.get(String(body.model ?? named));
    if (!cell) throw new Error(`no model for ${url}`);
    const error = `data: ${JSON.stringify(cell.message)}\n\n`;
    const hello = helloAt(url);
    const at = cell.isFirst ? 0 : hello.indexOf('\n\n', hello.indexOf('Hello')) + 2;
    return {
      type: 'text/event-stream',
      text: `${hello.slice(0, at)}${error}${hello.slice(at)}`,
    };
  });
  const models = [...byModel.values()].map(({ protocol, model }) =>
    modelOn([targetAt(upstream.url, { protocol, model, upstream: model })], { id: `v/${model}` }),
  );
  const clock = createCountingClock(Date.UTC(2026, 10, 21, 12));
  fleet = await startFleet({ models, clock, secret: CANARIES.upstreamKey });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});

const ask = ({ caller, model }: (typeof broken)[number]) =>
  send(fleet.urls[0] ?? '', PATHS[caller], {
    method: 'POST',
    headers: { 'x-api-key': fleet.key },
    body: JSON.stringify({
      ...{ model: `v/${model}`, stream: true },
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
