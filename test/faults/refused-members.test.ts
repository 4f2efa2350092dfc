import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createCountingClock } from '../support/counting-clock.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import {
  type GenerationUpstream,
  type Refusal,
  startGenerationUpstream,
} from '../support/generation-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { checksAll } from '../support/seeds.ts';
import { send } from '../support/send.ts';

const camelCase = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** How providers refuse a field by its name. */
const GRAMMARS: Record<string, (name: string) => Refusal> = {
  OpenAI: (name) => `Unsupported parameter: '${name}' is not supported with this model.`,
  Azure: (name) => `Unrecognized request argument supplied: ${name}`,
  Gemini: (name) => `Invalid JSON payload received. Unknown name "${name}": Cannot find field.`,
  FastAPI: (name) => ({
    detail: [
      { type: 'extra_forbidden', loc: ['body', name], msg: 'Extra inputs are not permitted' },
    ],
  }),
  xAI: (name) => `Model grok-4.6 does not support parameter ${camelCase(name)}.`,
  "xAI's gateway": (name) => `Argument not supported on this model: ${camelCase(name)}`,
  NIM: (name) => `Validation: body -> ${name} Extra inputs are not permitted`,
  'NIM, in a list': (name) => `Validation: Unsupported parameter(s): \`${name}\``,
  "Azure's gateway to models": (name) => ({
    detail: `Extra parameters ['${name}'] are not allowed when extra-parameters is not set or set to be 'error'.`,
  }),
  'a list of fields': (name) => `Extra inputs are not permitted, field: '${name}', value: True`,
  "vLLM's tokenizer of Mistral": (name) =>
    `Kwargs ['${name}'] are not supported by \`MistralCommonTokenizer.apply_chat_template\`.`,
  Groq: (name) => `property '${name}' is unsupported`,
  Bedrock: (name) =>
    `Malformed input request: #: extraneous key [${name}] is not permitted, please reformat your input and try again.`,
  Ollama: (name) => `"llama3.2" does not support ${name.replaceAll('_', ' ')}`,
};

type Fields = Record<string, unknown>;
type Member = {
  protocol: 'chat' | 'messages';
  name: string;
  fields: Fields;
  /** @default a member of that name */
  isSent?: (body: Fields) => boolean;
  /** What `x-router-dropped` names. @default the name */
  dropped?: string;
};

const chatTools = [{ type: 'function', function: { name: 'f' } }];
const tools = [{ name: 'f', input_schema: { type: 'object' } }];
const history = [
  { role: 'user', content: 'a' },
  { role: 'assistant', content: 'b', reasoning_content: 'c' },
  { role: 'user', content: 'd' },
];
const holds = (text: string) => (body: Fields) => JSON.stringify(body).includes(text);

const CHAT: Omit<Member, 'protocol'>[] = [
  { name: 'user', fields: { user: 'u' } },
  { name: 'store', fields: { store: false } },
  { name: 'service_tier', fields: { service_tier: 'flex' } },
  { name: 'safety_identifier', fields: { safety_identifier: 'u' } },
  { name: 'verbosity', fields: { verbosity: 'low' } },
  { name: 'n', fields: { n: 1 } },
  { name: 'temperature', fields: { temperature: 0.3 } },
  { name: 'top_p', fields: { top_p: 0.5 } },
  { name: 'top_k', fields: { top_k: 5 } },
  { name: 'frequency_penalty', fields: { frequency_penalty: 0.5 } },
  { name: 'presence_penalty', fields: { presence_penalty: 0.5 } },
  { name: 'logit_bias', fields: { logit_bias: { 50: 1 } } },
  { name: 'logprobs', fields: { logprobs: true } },
  {
    name: 'top_logprobs',
    fields: { logprobs: true, top_logprobs: 2 },
    dropped: 'logprobs, top_logprobs',
  },
  { name: 'stop', fields: { stop: ['END'] }, dropped: '' },
  { name: 'parallel_tool_calls', fields: { tools: chatTools, parallel_tool_calls: false } },
  {
    name: 'tool_choice',
    fields: { tools: chatTools, tool_choice: 'required' },
    isSent: ({ tool_choice: choice }) => choice !== undefined && choice !== 'auto',
  },
  { name: 'reasoning_effort', fields: { reasoning_effort: 'low' } },
  { name: 'metadata', fields: { metadata: { a: 'b' } } },
  { name: 'prompt_cache_key', fields: { prompt_cache_key: 'k' } },
  // The router's own: no caller has to send it.
  { name: 'stream_options', fields: {}, dropped: '' },
  { name: 'max_tokens', fields: { max_tokens: 50 }, dropped: '' },
  { name: 'max_completion_tokens', fields: { max_completion_tokens: 50 }, dropped: '' },
  {
    name: 'reasoning_content',
    fields: { messages: history },
    isSent: holds('reasoning_content'),
    dropped: 'messages[assistant].reasoning_content',
  },
];

const MESSAGES: Omit<Member, 'protocol'>[] = [
  { name: 'temperature', fields: { temperature: 0.3 } },
  { name: 'top_p', fields: { top_p: 0.5 } },
  { name: 'top_k', fields: { top_k: 5 } },
  { name: 'stop_sequences', fields: { stop_sequences: ['END'] }, dropped: '' },
  {
    name: 'disable_parallel_tool_use',
    fields: { tools, tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    isSent: holds('disable_parallel_tool_use'),
    dropped: 'tool_choice.disable_parallel_tool_use',
  },
  {
    name: 'tool_choice',
    fields: { tools, tool_choice: { type: 'any' } },
    isSent: holds('"any"'),
  },
  ...Object.entries({
    eager_input_streaming: true,
    input_examples: [{ city: 'Ghent' }],
    defer_loading: true,
  }).map(([name, value]) => ({
    name,
    fields: { tools: [{ ...tools[0], [name]: value }] },
    isSent: holds(name),
    dropped: `tools[].${name}`,
  })),
  { name: 'speed', fields: { speed: 'fast' } },
  { name: 'diagnostics', fields: { diagnostics: { previous_message_id: null } } },
  {
    name: 'thinking',
    fields: { max_tokens: 9_000, thinking: { type: 'adaptive' } },
    isSent: holds('"adaptive"'),
    dropped: '',
  },
  {
    name: 'effort',
    fields: { max_tokens: 9_000, output_config: { effort: 'low' } },
    isSent: holds('"effort"'),
    dropped: '',
  },
];

const MEMBERS: Member[] = [
  ...CHAT.map((member) => ({ ...member, protocol: 'chat' as const })),
  ...MESSAGES.map((member) => ({ ...member, protocol: 'messages' as const })),
];
/** `npm test` asks every third member in each grammar; which ones differs from grammar to grammar. */
const isChosen = (member: number, grammar: number) => checksAll || (member + grammar) % 3 === 0;
const CELLS = MEMBERS.flatMap((member, at) =>
  Object.entries(GRAMMARS)
    .filter((_, grammar) => isChosen(at, grammar))
    .map(([grammar, words]) => ({ member, grammar, words })),
).map((cell, index) => ({ ...cell, id: `vendor/${index}` }));

const isRefused = ({ name, isSent }: Member, body: Fields): boolean =>
  isSent?.(body) ?? body[name] !== undefined;

let upstream: GenerationUpstream;
let fleet: Fleet;
beforeAll(async () => {
  upstream = await startGenerationUpstream(({ body }) => {
    const cell = CELLS[Number(body.model)];
    return cell && isRefused(cell.member, body) ? cell.words(cell.member.name) : undefined;
  });
  const models = CELLS.map(({ member: { protocol }, id }, index) =>
    modelOn([targetAt(upstream.url, { protocol, model: String(index), upstream: id })], { id }),
  );
  const clock = createCountingClock(Date.UTC(2026, 10, 24, 12));
  fleet = await startFleet({ models, clock, secret: CANARIES.upstreamKey });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});

const PATHS = { chat: '/v1/chat/completions', messages: '/v1/messages' };

const ask = async ({ member: { protocol, fields }, id }: (typeof CELLS)[number]) => {
  const own = protocol === 'chat' ? { seed: 7 } : { max_tokens: 60 };
  const messages = [{ role: 'user', content: 'hi' }];
  const sent = await send(fleet.urls[0] ?? '', PATHS[protocol], {
    method: 'POST',
    headers: { authorization: `Bearer ${fleet.key}` },
    body: JSON.stringify({ model: id, messages, ...own, ...fields }),
  });
  return { ...sent, calls: upstream.take(), own };
};

describe('a field that a provider refuses by its name', () => {
  test('14 grammars of refusals and 37 members make 518 cells, of which each is in a third or more', () => {
    expect([Object.keys(GRAMMARS).length, MEMBERS.length]).toEqual([14, 37]);
    expect(CELLS.length).toBe(checksAll ? 518 : 173);
    const asked = Map.groupBy(CELLS, ({ member }) => member);
    for (const cells of asked.values()) expect(cells.length).toBeGreaterThanOrEqual(4);
    expect([asked.size, new Set(CELLS.map(({ grammar }) => grammar)).size]).toEqual([37, 14]);
  });

  test.each(
    CELLS.map((cell) => [cell.grammar, cell.member.protocol, cell.member.name, cell] as const),
  )(
    'in the words of %s, on %s, %s is left out by at most two more calls, is named, and is not sent again',
    async (_grammar, _protocol, name, cell) => {
      const { dropped = name } = cell.member;
      const first = await ask(cell);
      expect([first.status, first.text]).toEqual([200, first.text]);
      expect(first.calls.length).toBeGreaterThan(1);
      expect(first.calls.length).toBeLessThanOrEqual(3);
      expect(first.headers['x-router-dropped'] ?? '').toBe(dropped);
      expect(first.calls.at(-1)?.body).toMatchObject('seed' in first.own ? first.own : {});
      const next = await ask(cell);
      expect([next.status, next.calls.length]).toEqual([200, 1]);
      expect(next.headers['x-router-dropped'] ?? '').toBe(dropped);
    },
  );
});
