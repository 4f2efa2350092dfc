import { afterAll, beforeAll, expect, test } from 'vitest';
import { MINUTE_MS } from '../../lambdas/support/clock.ts';
import { createCountingClock } from '../support/counting-clock.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import {
  type GenerationUpstream,
  type Refusal,
  startGenerationUpstream,
} from '../support/generation-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { send } from '../support/send.ts';
import {
  streamedResponses,
  wholeResponses,
} from '../support/strict-upstream/responses-response.ts';
import { helloAt } from '../support/strict-upstream/vendors.ts';
import type { Meant } from '../support/strict-upstream/wire-response.ts';

type Item = { type?: string; call_id?: string; output?: string };

/** What Ollama's responses know, by its source; a result answers the call right before it, or another result of its turn. */
const KNOWN = ['message', 'function_call', 'function_call_output', 'reasoning', 'web_search_call'];
const unknownIn = (input: Item[]): string | undefined => {
  const index = input.findIndex(({ type = 'message' }) => !KNOWN.includes(type));
  if (index !== -1) return `input[${index}]: unknown input item type: "${input[index]?.type}"`;
  const misplaced = input.find(({ type }, at) => {
    const before = input[at - 1]?.type ?? 'message';
    return type === 'function_call_output' && !before.startsWith('function_call');
  });
  return misplaced && `No tool output found for function call ${misplaced.call_id}.`;
};

type Sent = { input: Item[]; tools?: { type: string; parameters?: { type?: string } }[] };
/** What a server rejects of a request, as its source or its users quote it; undefined for a request that it takes. */
type Server = (sent: Sent) => Refusal;

const errorOf = (message: string, more: object = {}) => ({
  error: { code: 400, type: 'invalid_request_error', message, ...more },
});

const isText = (value: unknown): boolean => typeof value === 'string';
const areParts = (list: unknown, type: RegExp): boolean =>
  Array.isArray(list) && list.every((part) => type.test(part.type) && isText(part.text));
const SPEAKERS = ['user', 'assistant', 'system', 'developer'];

/** By the vendor's own types of Python (`ResponseInputItemParam`), which vLLM, SGLang and others check with. */
const VARIANTS: Record<string, (item: Record<string, unknown>) => boolean> = {
  message: ({ role, content, id, status }) =>
    (SPEAKERS.includes(String(role)) && (isText(content) || areParts(content, /^input_text$/))) ||
    (role === 'assistant' && isText(id) && isText(status) && areParts(content, /^output_text$/)),
  function_call: ({ call_id, name, arguments: text }) => [call_id, name, text].every(isText),
  function_call_output: ({ call_id, output }) =>
    isText(call_id) && (isText(output) || areParts(output, /^input_text$/)),
  reasoning: ({ id, summary, content }) =>
    isText(id) &&
    areParts(summary, /^summary_text$/) &&
    (content === undefined || areParts(content, /^reasoning_text$/)),
};
const unknownAt = ({ input }: Sent): number =>
  input.findIndex((item) => !VARIANTS[item.type ?? 'message']?.(item));
const toolAt = ({ tools = [] }: Sent): number =>
  tools.findIndex(({ type, parameters }) => type !== 'function' || parameters?.type !== 'object');

const SERVERS: Record<string, Server> = {
  ollama: ({ input }) => unknownIn(input),
  vllm: (sent) =>
    unknownAt(sent) === -1
      ? undefined
      : errorOf(
          `38 validation errors:\n  {'type': 'string_type', 'loc': ('body', 'input', 'str'), 'msg': 'Input should be a valid string', 'input': ${JSON.stringify(sent.input)}}`,
          { type: 'Bad Request', param: null },
        ),
  fastapi: (sent) =>
    unknownAt(sent) === -1
      ? undefined
      : {
          detail: [
            {
              type: 'string_type',
              loc: ['body', 'input', 'str'],
              msg: 'Input should be a valid string',
            },
            {
              type: 'missing',
              loc: ['body', 'input', 'list[union]', unknownAt(sent), 'id'],
              msg: 'Field required',
            },
          ],
        },
  lmstudio: (sent) => {
    if (toolAt(sent) !== -1) {
      return errorOf('Invalid', { param: `tools.${toolAt(sent)}.type`, code: 'invalid_string' });
    }
    const { message } = errorOf("Invalid type for 'input'.").error;
    return unknownAt(sent) === -1
      ? undefined
      : errorOf(message, { param: 'input', code: 'invalid_union' });
  },
  llama: (sent) => (toolAt(sent) === -1 ? undefined : errorOf("'type' of tool must be 'function'")),
  openrouter: (sent) =>
    toolAt(sent) === -1 && unknownAt(sent) === -1
      ? undefined
      : {
          ...errorOf('Invalid Responses API request', { code: 'invalid_prompt' }),
          metadata: {
            raw: '[{"code":"invalid_union","path":["input"],"message":"Invalid input"}]',
          },
        },
  gateway: (sent) =>
    toolAt(sent) === -1
      ? undefined
      : errorOf(`Responses tool type "${sent.tools?.[toolAt(sent)]?.type}" is not supported`, {
          param: `tools[${toolAt(sent)}].type`,
          code: 'unsupported_parameter',
        }),
};

/** Calls of the tools, by the names that the server was sent. */
const CALLS = [
  { id: 'call_0', name: 'mcp__docs__search', arguments: '{"query":"1849173641234567891"}' },
  { id: 'call_1', name: 'apply_patch', arguments: '{"input":"*** Begin Patch\\n*** End Patch"}' },
];
const CALLED: Meant = {
  ...{ text: '', calls: CALLS, finish: 'tool-calls' },
  usage: { input: 40, cached: 0, output: 20 },
};
const FORM = { isWhole: false, isAscii: false, units: [4] };

const clock = createCountingClock(Date.UTC(2026, 10, 24, 12));
let upstream: GenerationUpstream;
let fleet: Fleet;
beforeAll(async () => {
  const nameIn = (url: string) => url.split('/')[1] ?? '';
  upstream = await startGenerationUpstream(
    ({ url, body }) => SERVERS[nameIn(url)]?.(body as Sent),
    ({ url, body: { input, tools, stream } }) => {
      const isFirst = (input as Item[]).every(({ type = 'message' }) => type === 'message');
      const hasTools =
        tools !== undefined && toolAt({ input: [], tools } as unknown as Sent) === -1;
      if (!isFirst || !hasTools || nameIn(url) === 'ollama') {
        return { type: 'text/event-stream', text: helloAt('/responses') };
      }
      return stream === true
        ? { type: 'text/event-stream', text: streamedResponses(CALLED, FORM) }
        : { type: 'application/json', text: wholeResponses(CALLED, { ...FORM, isWhole: true }) };
    },
  );
  const models = Object.keys(SERVERS).map((name) => {
    const target = { protocol: 'responses' as const, model: 'm', upstream: name };
    return modelOn([targetAt(`${upstream.url}/${name}`, target)], { id: `v/${name}` });
  });
  fleet = await startFleet({
    models,
    size: 2,
    clock,
    secret: CANARIES.upstreamKey,
  });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});

const post = async (body: object, process = 0) => {
  upstream.take();
  const sent = await send(fleet.urls[process] ?? '', '/v1/responses', {
    method: 'POST',
    headers: { 'x-api-key': fleet.key },
    body: JSON.stringify(body),
  });
  const calls = upstream.take();
  return {
    ...{ status: sent.status, text: sent.text, calls: calls.length },
    body: calls.at(-1)?.body as Record<string, unknown>,
    dropped: sent.headers['x-router-dropped'],
  };
};
const ask = (input: object[]) => post({ model: 'v/ollama', stream: true, input });

const user = { type: 'message', role: 'user', content: 'Look.' };
const call = (id: string) => ({
  type: 'function_call',
  call_id: id,
  name: 'look',
  arguments: '{}',
});
const result = (id: string) => ({
  type: 'function_call_output',
  call_id: id,
  output: 'A calendar.',
});
const look = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } };

test("Codex's items reach a server that knows the common ones alone, as what it knows", async () => {
  const input = [
    { type: 'additional_tools', role: 'developer', tools: [look] },
    user,
    call('call_a'),
    call('call_b'),
    result('call_a'),
    { type: 'message', role: 'developer', content: 'The hook has run.' },
    result('call_b'),
    {
      type: 'agent_message',
      author: 'a',
      recipient: 'b',
      content: [{ type: 'input_text', text: 'Done.' }],
    },
  ];
  const first = await ask(input);
  expect([first.status, first.calls]).toEqual([200, 2]);
  expect(first.body.tools).toEqual([{ ...look, strict: false }]);
  const { input: sent } = first.body as { input: Item[] };
  expect(sent.map(({ type }) => type)).toEqual([
    ...['message', 'function_call', 'function_call'],
    ...['function_call_output', 'function_call_output', 'message', 'message'],
  ]);
  expect(JSON.stringify(sent)).toContain('Message from a to b:');
  const next = await ask(input);
  expect([next.status, next.calls, next.body]).toEqual([200, 1, first.body]);
});

test('a conversation that was compacted at another provider is the 400 of a server that does not know such items', async () => {
  const { status, text, calls, body } = await ask([
    { type: 'compaction', encrypted_content: 'c2VhbGVk' },
    user,
  ]);
  expect([status, calls]).toEqual([400, 1]);
  expect(text).toContain('unknown input item type');
  expect(body.input).toEqual([{ type: 'compaction', encrypted_content: 'c2VhbGVk' }, user]);
});

const parameters = { type: 'object', properties: { query: { type: 'string' } } };
/** The tools that Codex offers: of its own, of an MCP server that it knows, of the vendor. */
const tools = [
  { type: 'function', name: 'new_context', parameters: {}, strict: false },
  { type: 'custom', name: 'apply_patch', description: 'Edits files.', format: { type: 'text' } },
  {
    ...{ type: 'namespace', name: 'mcp__docs', description: 'Documentation.' },
    tools: [{ type: 'function', name: 'search', parameters, strict: false }],
  },
  { type: 'web_search', external_web_access: false },
];

type Output = Record<string, unknown>[];
const outputOf = (text: string): Output => {
  if (text.startsWith('{')) return JSON.parse(text).output;
  const events = text.split('\n').filter((line) => line.startsWith('data: {'));
  return events
    .map((line) => JSON.parse(line.slice(6)))
    .find(({ type }) => type === 'response.completed')?.response.output;
};

/** As Codex sends a conversation back: without ids, and without the status of items. */
const history = [
  user,
  {
    ...{ type: 'reasoning', summary: [], encrypted_content: null },
    content: [{ type: 'reasoning_text', text: 'I search.' }],
  },
  { ...user, role: 'assistant', content: [{ type: 'output_text', text: 'I search.' }] },
  { ...call('call_0'), name: 'search', namespace: 'mcp__docs' },
  { type: 'custom_tool_call', call_id: 'call_1', name: 'apply_patch', input: '*** Begin Patch' },
  { ...result('call_0'), output: [{ type: 'input_text', text: 'None.' }] },
  { ...result('call_1'), type: 'custom_tool_call_output' },
  { ...user, role: 'developer' },
];

test("a hosted tool that no agent asks for is its server's 400", async () => {
  const { status, text, calls } = await post({
    ...{ model: 'v/gateway', tools: [look, tools[3]], input: [user] },
  });
  expect([status, calls]).toEqual([400, 1]);
  expect(text).toContain('is not supported');
});

test.each(Object.keys(SERVERS))(
  'a conversation of Codex reaches %s in the form that it takes, by each process',
  async (name) => {
    const asked = { model: `v/${name}`, stream: true, tools, instructions: 'Be brief.' };
    const first = await post({ ...asked, input: history });
    expect([first.status, first.text.includes('Hello')]).toEqual([200, true]);
    clock.advance(2 * MINUTE_MS);
    const next = await post({ ...asked, input: history }, 1);
    expect([next.status, next.calls, next.body]).toEqual([200, 1, first.body]);
    expect(next.dropped).toContain('tools[web_search]');
    const sent = JSON.stringify(next.body);
    for (const told of ['I search.', 'None.', 'A calendar.', '*** Begin Patch', 'Be brief.']) {
      expect(sent).toContain(told);
    }
  },
);

const FUNCTIONS_ONLY = ['lmstudio', 'llama', 'openrouter', 'gateway'];

test.each(
  FUNCTIONS_ONLY.flatMap(
    (name) =>
      [
        [name, true],
        [name, false],
      ] as const,
  ),
)(
  "%s calls Codex's own tools by the names that Codex gave them, streamed: %s",
  async (name, stream) => {
    const { text } = await post({ model: `v/${name}`, stream, tools, input: [user] });
    expect(outputOf(text)).toMatchObject([
      {
        ...{ type: 'function_call', name: 'search', namespace: 'mcp__docs', call_id: 'call_0' },
        arguments: '{"query":"1849173641234567891"}',
      },
      { type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin Patch\n*** End Patch' },
    ]);
  },
);
