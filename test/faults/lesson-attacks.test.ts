import { afterAll, beforeAll, expect, test } from 'vitest';
import { DAY_MS } from '../../lambdas/support/clock.ts';
import { createCountingClock } from '../support/counting-clock.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import {
  type GenerationUpstream,
  startGenerationUpstream,
} from '../support/generation-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { sample } from '../support/seeds.ts';
import { send } from '../support/send.ts';

type Fields = Record<string, unknown>;

/** How providers refuse a member by its name, which a caller may write into a request. */
const GRAMMARS: ((name: string) => string)[] = [
  (name) => `Unsupported parameter: '${name}' is not supported with this model.`,
  (name) => `Unrecognized request argument supplied: ${name}`,
  (name) => `Unknown name "${name}": Cannot find field.`,
  (name) => `Model m does not support parameter ${name}.`,
  (name) => `Argument not supported on this model: ${name}`,
  (name) => `body -> ${name} Extra inputs are not permitted`,
  (name) => `property '${name}' is unsupported`,
  (name) => `extraneous key [${name}] is not permitted`,
  (name) => `This model does not support ${name.replaceAll('_', ' ')}`,
  (name) => `${name} is not supported`,
];

/** How a provider quotes what it does not accept. */
const QUOTES: ((text: string) => string)[] = [
  (text) => `Invalid value: '${text}'.`,
  (text) => `Input should be shorter: ${JSON.stringify(text)}`,
  (text) => `Invalid value '${text.slice(0, 60)}...'`,
  (text) => `invalid input ${text.toLowerCase()}`,
  (text) => `[{"input": ${JSON.stringify(JSON.stringify(text))}}] is too long`,
];

const tool = (name: string, description = '') => ({
  type: 'function',
  function: { name, description, parameters: { type: 'object' } },
});

/** Where a caller writes it, next to the member that it names. The member goes with it, or without it. */
const PLACES: { member: string; value: unknown; poison: (text: string) => Fields }[] = [
  { member: 'stop', value: ['END'], poison: (text) => ({ stop: [text] }) },
  { member: 'metadata', value: { a: 'b' }, poison: (text) => ({ metadata: { a: text } }) },
  { member: 'reasoning_effort', value: 'low', poison: (text) => ({ reasoning_effort: text }) },
  { member: 'temperature', value: 0.3, poison: (text) => ({ user: text.slice(0, 60) }) },
  {
    member: 'top_p',
    value: 0.5,
    poison: (text) => ({ messages: [{ role: 'user', content: text }] }),
  },
  {
    member: 'presence_penalty',
    value: 0.5,
    poison: (text) => ({ tools: [tool('f', text)] }),
  },
  {
    member: 'logit_bias',
    value: { 50: 1 },
    poison: (text) => ({ tools: [tool(text.replace(/\W+/g, '_').slice(0, 60))] }),
  },
  {
    member: 'frequency_penalty',
    value: 0.5,
    poison: (text) => ({ prediction: { type: 'content', content: text } }),
  },
  {
    member: 'stop',
    value: ['END'],
    poison: (text) => ({ seed: 1, metadata: { [text.slice(0, 60)]: 'x' } }),
  },
  {
    member: 'tool_choice',
    value: 'required',
    poison: (text) => ({ messages: [{ role: 'user', content: `say: ${text}` }] }),
  },
];

const ATTACKS = PLACES.flatMap((place) =>
  GRAMMARS.map((grammar) => ({ ...place, text: grammar(place.member) })),
);

/** What the provider says at the moment, for a request with this text; it accepts every member. */
let attack: { text: string; quote: (text: string) => string } | undefined;
let upstream: GenerationUpstream;
let fleet: Fleet;
const clock = createCountingClock(Date.UTC(2026, 10, 24, 12));
beforeAll(async () => {
  upstream = await startGenerationUpstream(({ text }) => {
    const words = attack && JSON.stringify(attack.text).slice(1, -1);
    const slug = attack?.text.replace(/\W+/g, '_').slice(0, 60) ?? '';
    if (!attack || !words) return undefined;
    if (text.includes(words) || text.includes(words.slice(0, 58))) return attack.quote(attack.text);
    return text.includes(slug) ? attack.quote(slug) : undefined;
  });
  const models = [modelOn([targetAt(upstream.url, { model: 'm', upstream: 'one' })])];
  fleet = await startFleet({ models, clock, secret: CANARIES.upstreamKey });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});

const ask = async (key: string, fields: Fields) => {
  const { status, text } = await send(fleet.urls[0] ?? '', '/v1/chat/completions', {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({
      model: 'vendor/model',
      messages: [{ role: 'user', content: 'hi' }],
      ...fields,
    }),
  });
  return { status, text, calls: upstream.take() };
};

test('no text of a caller that its provider quotes in the words of a refusal takes a member from the requests of others', async () => {
  const wrong: string[] = [];
  const statuses = new Set<number>();
  for (const { member, value, text, poison } of sample(ATTACKS, 3)) {
    const own = { ...(member === 'tool_choice' && { tools: [tool('f')] }), [member]: value };
    for (const quote of QUOTES) {
      attack = { text, quote };
      const { status, calls } = await ask(fleet.key, { ...own, ...poison(text) });
      statuses.add(status);
      expect(calls.length).toBeLessThanOrEqual(3);
    }
    attack = undefined;
    const { status, calls } = await ask(fleet.otherKey, own);
    const isWhole = JSON.stringify(calls[0]?.body[member]) === JSON.stringify(value);
    if (status !== 200 || calls.length !== 1 || !isWhole) wrong.push(`${member}: ${text}`);
    clock.advance(2 * DAY_MS);
  }
  // None was answered: the provider did refuse each.
  expect([...statuses]).toEqual([400]);
  expect(wrong).toEqual([]);
  expect(ATTACKS.length * QUOTES.length).toBe(500);
});
