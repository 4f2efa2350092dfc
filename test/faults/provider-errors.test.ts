import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  CALLER_PROTOCOLS,
  type CallerProtocolName,
} from '../../lambdas/protocols/protocol-name.ts';
import { createCountingClock } from '../support/counting-clock.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { PLANTED_SECRETS, PLANTED_TEXT } from '../support/planted-secrets.ts';
import {
  PROVIDER_ERRORS,
  type ProviderError,
  startRejectingProvider,
  textOf,
} from '../support/provider-errors.ts';
import { conversationOf, PATHS } from '../support/request-forms.ts';
import { send } from '../support/send.ts';
import { parseJson } from '../support/sse-text.ts';

/** The error with the secrets before its message, so that the cap does not remove them. */
const planted = (error: ProviderError): string =>
  textOf(error).replace(
    /"(message|error|msg|detail)":"/g,
    (start) => `${start}${JSON.stringify(PLANTED_TEXT).slice(1, -1)} `,
  );

/** The errors of a vendor that its other protocol has too; the one with a parameter names that of chat. */
const OWN: Record<string, ProviderError['protocol']> = { gemini: 'gemini', openai: 'responses' };
const ownErrors = PROVIDER_ERRORS.flatMap((error): ProviderError[] => {
  const { id, body, param } = error;
  const protocol = OWN[id.split(':')[0] ?? ''];
  if (!protocol || param !== undefined) return [];
  // Only Gemini's address for chat wraps an error in a list.
  const own = Array.isArray(body) ? (body[0] as unknown) : body;
  return [{ ...error, protocol, id: `${id} on ${protocol}`, body: own }];
});

const cells = [...PROVIDER_ERRORS, ...ownErrors].flatMap((error, index) =>
  ['plain', 'planted'].map((variant) => ({ error, variant, model: `${variant}-${index}` })),
);

const clock = createCountingClock(Date.UTC(2026, 10, 21, 12));
let provider: Awaited<ReturnType<typeof startRejectingProvider>>;
let fleet: Fleet;
beforeAll(async () => {
  const byModel = new Map(cells.map((cell) => [cell.model, cell]));
  provider = await startRejectingProvider((model) => {
    const cell = byModel.get(model);
    if (!cell) throw new Error(`no model ${model}`);
    const { error, variant } = cell;
    return { status: error.status, text: variant === 'plain' ? textOf(error) : planted(error) };
  });
  const models = cells.map(({ error, model }) =>
    modelOn([targetAt(provider.url, { protocol: error.protocol, model, upstream: model })], {
      id: `vendor/${model}`,
      vision: true,
    }),
  );
  fleet = await startFleet({ models, clock, secret: CANARIES.upstreamKey });
});
afterAll(async () => {
  await fleet.close();
  await provider.close();
});

/** Fields that the errors name, each as its protocol spells it. */
const TURNS = [{ role: 'user', content: `${CANARIES.prompt} say one` }];
const FUNCTION = { name: 'f', parameters: { type: 'object' } };
const BY_FAMILY: Record<CallerProtocolName, object> = {
  chat: { reasoning_effort: 'low', tools: [{ type: 'function', function: FUNCTION }] },
  messages: { tools: [{ name: 'f', input_schema: { type: 'object' } }] },
  responses: { reasoning: { effort: 'low' }, tools: [{ type: 'function', ...FUNCTION }] },
};

const ask = async (family: CallerProtocolName, model: string) => {
  const before = fleet.lines().length;
  const sent = await send(fleet.urls[0] ?? '', PATHS[family], {
    method: 'POST',
    headers: { 'x-api-key': fleet.key },
    body: JSON.stringify({
      ...{ model: `vendor/${model}`, temperature: 0.2 },
      ...conversationOf(family, TURNS, 100_000),
      ...BY_FAMILY[family],
    }),
  });
  const { error } = parseJson(sent.text) as { error: Record<string, unknown> };
  return { ...sent, told: error, lines: fleet.lines().slice(before) };
};

const plainCells = cells.filter(({ variant }) => variant === 'plain');
const plantedCells = cells.filter(({ variant }) => variant === 'planted');
/** Kinds that last until the operator acts. */
const LASTING = ['no-quota', 'unknown-model', 'credential-refused'];

test('at least 60 published errors of at least 15 providers are listed', () => {
  expect(PROVIDER_ERRORS.length).toBeGreaterThanOrEqual(60);
  expect(new Set(PROVIDER_ERRORS.map(({ id }) => id.split(':')[0])).size).toBeGreaterThan(14);
});

describe('a published provider error has its class, status and reason', () => {
  test.each(plainCells.map((cell) => [cell.error.id, cell] as const))(
    'provider error %s reaches the caller as listed',
    async (_, { error, model }) => {
      const { status, headers, told, lines } = await ask('chat', model);
      expect({ status, message: told.message }).toMatchObject({ status: error.caller });
      const failed = lines.find(({ event }) => event === 'upstream_failed');
      expect(failed).toMatchObject({ fault: error.kind, upstreamStatus: error.status });
      if (error.caller === 400) {
        expect(told.message).toBe(`The model's provider rejected the request: ${error.reason}`);
        expect(told).toMatchObject({ type: 'invalid_request_error', param: error.param ?? null });
        return;
      }
      // A rate limit that the request alone exceeds.
      if (error.status === 429 && error.caller === 413) {
        expect(headers['x-should-retry']).toBe('false');
        expect(told.message).toContain(error.reason);
        return;
      }
      // The operator's account and catalog are not the caller's to know.
      if (error.reason) expect(told.message).not.toContain(error.reason.slice(0, 20));
      const isLasting = LASTING.includes(error.kind);
      if (isLasting) {
        expect(headers['x-should-retry']).toBe('false');
        expect(told.message).not.toContain('temporarily');
      }
    },
  );
});

describe('secrets that a provider echoes', () => {
  const inside = [...PLANTED_SECRETS, CANARIES.prompt, '\\u001b', '\\u202e'];

  test.each(CALLER_PROTOCOLS)(
    'secrets planted in every provider error reach no caller of %s and no log',
    async (family) => {
      const answers = await Promise.all(plantedCells.map(({ model }) => ask(family, model)));
      const leaks = answers.flatMap(({ headers, text }, index) => {
        const seen = JSON.stringify(headers) + text;
        const found = inside.filter((secret) => seen.includes(secret));
        return found.map((secret) => `${plantedCells[index]?.error.id}: ${secret}`);
      });
      expect(leaks).toEqual([]);
      expect(inside.filter((secret) => fleet.logText().includes(secret))).toEqual([]);
      // Otherwise no text reached anyone, and the test could not fail.
      const told = answers.filter(({ text }) => text.includes('rejected the request: key'));
      expect(told.length).toBeGreaterThan(5);
    },
  );
});
