import { expect, test } from 'vitest';
import { PRESETS } from '../../../../lambdas/catalog/profiles.ts';
import type { CallerProtocolName } from '../../../../lambdas/protocols/protocol.ts';
import { breakOf, type Exchange, sentFor } from '../../../support/steps.ts';
import type { Wire } from '../../../support/wires.ts';

/** Shows that the law of the stable prefix can fail: what each guarded step of the encoding did once is done to one request again. */
const exchange = (calls: number): Exchange => ({
  ask: 'Read "a/b".',
  calls: Array.from({ length: calls }, (_, at) => ({
    ...{ id: `toolu_0${at}abc`, arguments: '{"at": 1.0,"10":1,"2":2}', result: `result ${at}` },
  })),
  answer: 'It is 3.',
});
const HISTORIES = [1, 2, 3, 4].map((calls) => [exchange(1), exchange(calls)]);
/** The step of which the request is spoiled: one is before it, and one behind it. */
const SPOILED = 1;

type Body = {
  tools: object[];
  system: object[];
  messages: { role: string; content: unknown }[];
  thinking?: object;
};
type Change = (body: Body) => object;

const written =
  (change: Change) =>
  (body: string): string =>
    JSON.stringify(change(JSON.parse(body)));

type Case = {
  place: string;
  from?: CallerProtocolName;
  to?: Wire;
  members?: Record<string, unknown>;
  spoil: (body: string) => string;
};

const words = (text: string) => ({ type: 'text', text });
const tool = (name: string) => ({ name, input_schema: { type: 'object' } });

const PLACES: Case[] = [
  {
    place: 'P1, the words for a tool that cannot be forced, in the system prompt',
    spoil: written((body) => ({ ...body, system: [...body.system, words('Call a tool.')] })),
  },
  {
    place: 'P2, the allowed tools alone',
    spoil: written((body) => ({ ...body, tools: body.tools.slice(0, 1) })),
  },
  {
    place: 'P3, the words for a format, first in the system prompt',
    spoil: written((body) => ({ ...body, system: [words('Reply with JSON.'), ...body.system] })),
  },
  {
    place: 'P4, an added tool among the tools',
    spoil: written((body) => ({ ...body, tools: [tool('late'), ...body.tools] })),
  },
  {
    place: 'P5, thinking on in the turn of the user and off in the loop',
    spoil: written((body) => ({ ...body, thinking: { type: 'disabled' } })),
  },
  {
    place: 'P6, a budget of thinking by the limit of the response',
    members: { thinking: { type: 'enabled', budget_tokens: 8_192 } },
    spoil: written((body) => ({ ...body, thinking: { type: 'enabled', budget_tokens: 3_200 } })),
  },
  {
    place: 'P7, numbers and members in the spelling of JavaScript',
    spoil: (body) => JSON.stringify(JSON.parse(body)),
  },
  {
    place: 'P8, a text that is trimmed while it is the last of the model',
    spoil: (body) => body.replace('It is 3.', 'It is 3. '),
  },
  {
    place: 'P8, a result of a tool before the text of the user',
    spoil: written((body) => ({
      ...body,
      messages: body.messages.with(0, body.messages[2] ?? { role: 'user', content: '' }),
    })),
  },
  {
    place: 'P9, ids of calls in the form that a lesson demands',
    spoil: (body) => body.replaceAll('toolu_00abc', 'call_0'),
  },
  {
    place: 'M1, the key of a session left out',
    ...{ from: 'chat', to: 'chat', members: { prompt_cache_key: 'session' } },
    spoil: written(({ ...body }) => ({ ...body, prompt_cache_key: undefined })),
  },
];

const breaksOf = ({ from = 'messages', to = 'messages', members = {}, spoil }: Case) => {
  const target = {
    ...PRESETS[to === 'chat' ? 'gpt-5' : 'claude-5'],
    model: 'm',
    maxOutputTokens: 64_000,
  };
  const step = { ...{ isReversed: false, headers: {}, isUnmarked: true }, target };
  const all = { ...(from === 'messages' && { max_tokens: 20_000 }), ...members };
  const bodies = HISTORIES.map((history, index) => {
    const sent = sentFor({ from, to }, history, { ...step, members: all });
    return index === SPOILED ? spoil(sent) : sent;
  });
  return bodies.slice(1).map((body, index) => breakOf(to, bodies[index] ?? '', body));
};

test.each(PLACES)('the law of the stable prefix notices $place', (place) => {
  expect(breaksOf({ ...place, spoil: (body) => body })).toEqual([undefined, undefined, undefined]);
  const [into] = breaksOf(place);
  expect(into).toEqual(expect.any(String));
});
