import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { callerProtocols, upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { ApiError } from '../../../lambdas/support/errors.ts';
import {
  expectListed,
  type Reasons,
  type Translated,
  withoutEffect,
} from '../../support/member-paths.ts';
import { samplesOf } from '../../support/samples-of-type.ts';
import { exportedType, membersOf } from '../../support/type-declarations.ts';

/**
 * Every member of a responses request in the official SDK's types: of the request, its items, parts, tools and
 * settings. A new version of the SDK that brings one fails here: translate it, name it in what is dropped, or list
 * it with the reason why its loss is silent.
 */
type Json = Record<string, unknown>;
type Target = 'chat' | 'messages';
/** What becomes of a value; `named`: in `x-router-dropped`. */
type Fate = 'carried' | 'harmless' | 'named' | 'refused';

const MODULE = 'openai/resources/responses/responses';

const OBJECT = {
  type: 'object',
  properties: { a: { type: 'string' } },
  required: ['a'],
  additionalProperties: false,
};
const LOOK = { type: 'function', name: 'look', parameters: OBJECT };
const DRAW = { type: 'custom', name: 'draw' };
const BASE = { model: 'm', store: false, input: 'hi', tools: [LOOK, DRAW] };

const translate =
  (to: Target) =>
  (body: unknown): Translated => {
    const request = callerProtocols.responses.decodeRequest(body);
    const target = { model: 'm', maxOutputTokens: 9_000 };
    const { encodeRequest, losses, cannotSay } = upstreamProtocols[to];
    return {
      sent: JSON.parse(JSON.stringify(encodeRequest(request, target))),
      reported: [request.dropped, losses(request, target), cannotSay(request)],
    };
  };

const fateOf = (to: Target, whole: unknown, without: unknown): Fate => {
  try {
    const [given, rest] = [whole, without].map(translate(to));
    if (!isDeepStrictEqual(given?.sent, rest?.sent)) return 'carried';
    return isDeepStrictEqual(given?.reported, rest?.reported) ? 'harmless' : 'named';
  } catch (error) {
    if (error instanceof ApiError) return 'refused';
    throw error;
  }
};

/** A value of every field that is not its default, and its fates where targets differ. */
const FIELDS: Record<string, [Fate | Record<Target, Fate>, unknown]> = {
  access_programs: ['named', { a: 'b' }],
  background: ['refused', true],
  context_management: ['refused', [{ type: 'compaction' }]],
  conversation: ['refused', 'conv_1'],
  image: ['named', { a: 'b' }],
  include: ['named', ['message.output_text.logprobs']],
  input: ['carried', 'hello'],
  instructions: ['carried', 'be brief'],
  max_output_tokens: ['carried', 9],
  max_tool_calls: ['named', 2],
  metadata: ['harmless', { a: 'b' }],
  // The catalog's name of the model, for which a target has its own.
  model: ['harmless', 'vendor/model'],
  moderation: ['named', { model: 'm' }],
  parallel_tool_calls: ['carried', false],
  previous_response_id: ['refused', 'resp_1'],
  prompt: ['refused', { id: 'pmpt_1' }],
  prompt_cache_key: ['harmless', 'k'],
  prompt_cache_options: ['harmless', { mode: 'explicit' }],
  prompt_cache_retention: ['harmless', '24h'],
  reasoning: ['carried', { effort: 'low' }],
  safety_identifier: [{ chat: 'carried', messages: 'harmless' }, 'u'],
  service_tier: [{ chat: 'carried', messages: 'harmless' }, 'flex'],
  store: ['named', true],
  stream: ['carried', true],
  stream_options: ['harmless', { include_obfuscation: false }],
  temperature: ['carried', 0.5],
  text: ['carried', { format: { type: 'json_object' } }],
  tool_choice: ['carried', 'required'],
  tools: ['carried', [{ ...LOOK, name: 'listen' }]],
  top_logprobs: ['named', 2],
  top_p: ['carried', 0.5],
  truncation: ['named', 'auto'],
  user: ['carried', 'u'],
};

/** What the types do not state. */
const VALUES = {
  allowed_callers: ['programmatic'],
  arguments: '{"a":"b"}',
  'summary.text': 'in short',
  call_id: 'call_1',
  detail: 'high',
  file_data: 'data:application/pdf;base64,JVBERi0=',
  file_url: undefined,
  image_url: 'https://a.test/a.png',
  parameters: OBJECT,
  schema: OBJECT,
};

let count = 0;
const newName = () => `look_${count++}`;

const USER = { role: 'user', content: 'hi' };
const ADDED = [{ ...LOOK, name: 'listen' }];
const ITEMS = samplesOf(MODULE, 'ResponseInputItem', {
  values: { ...VALUES, name: 'look', tools: ADDED },
}) as Json[];

const CALL = { call_id: 'call_1', name: 'look' };
/** What is around an item of a kind in a conversation that vendors accept. */
const AROUND: Record<string, (item: Json) => Json[]> = {
  function_call: (item) => [item, { type: 'function_call_output', ...CALL, output: 'x' }],
  function_call_output: (item) => [{ type: 'function_call', ...CALL, arguments: '{}' }, item],
  custom_tool_call: (item) => [item, { type: 'custom_tool_call_output', ...CALL, output: 'x' }],
  custom_tool_call_output: (item) => [{ type: 'custom_tool_call', ...CALL, input: 'x' }, item],
  apply_patch_call: (item) => [item, { type: 'function_call_output', ...CALL, output: 'x' }],
  apply_patch_call_output: (item) => [{ type: 'function_call', ...CALL, arguments: '{}' }, item],
  shell_call: (item) => [item, { type: 'function_call_output', ...CALL, output: 'x' }],
  shell_call_output: (item) => [{ type: 'function_call', ...CALL, arguments: '{}' }, item],
  local_shell_call: (item) => [item, { type: 'function_call_output', ...CALL, output: 'x' }],
  local_shell_call_output: (item) => [
    { type: 'function_call', ...CALL, call_id: item.id, arguments: '{}' },
    item,
  ],
  // Thinking alone is not a turn.
  reasoning: (item) => [item, { role: 'assistant', content: 'ok' }],
};
const kindOf = ({ type = 'message' }: Json): string => String(type);
const withItems = (items: Json[]) => ({ ...BASE, input: [USER, ...items, USER] });
const withItem = (item: Json) => withItems(AROUND[kindOf(item)]?.(item) ?? [item]);

const TOOLS = samplesOf(MODULE, 'Tool', { values: { ...VALUES, name: newName } }) as Json[];
const withTool = (tool: Json) => ({ ...BASE, tools: [tool] });

const SETTINGS = (
  samplesOf(MODULE, 'ResponseCreateParamsBase', {
    values: {
      ...VALUES,
      input: 'hi',
      'tool_choice.name': 'look',
      'tool_choice.tools': [{ type: 'function', name: 'look' }],
      tools: undefined,
      'reasoning.context': 'all_turns',
      'reasoning.effort': 'low',
      'reasoning.mode': 'pro',
    },
  }) as { text: Json & { format: Json }; reasoning: Json; tool_choice: Json }[]
).map(({ text, reasoning, tool_choice }) => ({ ...BASE, text, reasoning, tool_choice }));

/** The kinds of items, of tools and of choices that are not named and refused as a whole. */
const CARRIED = {
  items: [
    ...['message', 'reasoning', 'additional_tools', 'function_call', 'function_call_output'],
    ...['custom_tool_call', 'custom_tool_call_output'],
    ...['apply_patch_call', 'apply_patch_call_output', 'shell_call', 'shell_call_output'],
    ...['local_shell_call', 'local_shell_call_output'],
  ],
  // The shell of the first sample is one in a container of the vendor.
  tools: ['function', 'custom', 'namespace', 'apply_patch', 'local_shell'],
};
const REFUSED_ITEMS = [
  'compaction',
  'compaction_trigger',
  'configuration_update',
  'item_reference',
];
const REFUSED_CHOICES = [
  ...['code_interpreter', 'computer', 'computer_use', 'computer_use_preview'],
  ...['file_search', 'image_generation', 'mcp', 'programmatic_tool_calling'],
  ...['web_search_preview', 'web_search_preview_2025_03_11'],
];

/** The fate of the first value of each kind. */
const fatesByKind = (values: Json[], fate: (value: Json) => Fate): Record<string, Fate> =>
  Object.fromEntries(
    [...Map.groupBy(values, kindOf)].map(([kind, [first = {}]]) => [kind, fate(first)]),
  );

const isRefused = (body: unknown): boolean => fateOf('chat', body, BASE) === 'refused';

const CACHE = 'a cache point changes no response';
const WITH_DATA = 'the file is sent with its data';
const ECHOED = 'agents send it back, for the service that wrote it';

const SILENT: Reasons = {
  'part.prompt_cache_breakpoint': CACHE,
  'part[input_image].file_id': WITH_DATA,
  'part[input_file].file_id': WITH_DATA,
  'part[output_text].annotations': ECHOED,
  'part[output_text].logprobs': ECHOED,
  'input.id': 'nothing is stored here',
  'input.status': ECHOED,
  'input.phase': ECHOED,
  'call.async': ECHOED,
  'call.caller': ECHOED,
  'call.call_id': 'without one the first open call is meant',
  'call.environment': 'the machine of the caller, which runs the call',
  'call.max_output_length': 'the output is sent as it is',
  'call.name': 'the call has it',
  'call.namespace': 'the call has it',
  'input[reasoning].summary': 'a part of what `content` has whole',
  'input[reasoning].encrypted_content': 'known to the service that wrote it only',
  'tools.defer_loading': 'the tool is offered at once',
  'tools.format[text]': 'the default',
  'text.format[json_schema].strict': 'a schema is enforced wherever the target can',
  'reasoning.summary': 'thinking is always in the summary',
  'reasoning.generate_summary': 'thinking is always in the summary',
};
const SILENT_ON: Record<Target, Reasons> = {
  chat: {},
  messages: {
    'input[reasoning].content': 'a messages upstream rejects thinking that it did not sign',
    'text.format[json_schema].name': 'a label of the schema',
    'text.verbosity': 'changes the length of a response, as on chat',
  },
};

/** One path for the same member of many places. */
const generalized = (path: string): string =>
  path
    .replace(/^input\[\w+\]\.(?:content|output)\[/, 'part[')
    .replace(/^part\[\w+\]\.prompt_cache_breakpoint/, 'part.prompt_cache_breakpoint')
    .replace(/^input\[\w+\]\.(id|status|phase)$/, 'input.$1')
    .replace(/^input\[\w+_call(?:_output)?\]/, 'call')
    .replace(/^tools\[namespace\]\.tools/, 'tools')
    .replace(/^tools\[(?:function|custom)\]/, 'tools');

test('docs/translation.md lists the fields of responses that x-router-dropped names', () => {
  const page = readFileSync(new URL('../../../docs/translation.md', import.meta.url), 'utf8');
  const [, line = ''] = /^- Named, of responses: (.+)$/m.exec(page) ?? [];
  const named = Object.entries(FIELDS).flatMap(([name, [fate]]) => (fate === 'named' ? name : []));
  expect([...line.matchAll(/`([^`]+)`/g)].map(([, name]) => name)).toEqual(named);
});

test("every field of the SDK's responses request has a class", () => {
  const declared = membersOf(exportedType(MODULE, 'ResponseCreateParamsBase'));
  const names = declared.map(({ name }) => name);
  expect(Object.keys(FIELDS).toSorted()).toEqual(names.toSorted());
});

test("a choice of every kind in the SDK's types names a tool of the caller's, or is refused", () => {
  const choices = SETTINGS.filter(isRefused).map(({ tool_choice }) => kindOf(tool_choice));
  expect([...new Set(choices)].toSorted()).toEqual(REFUSED_CHOICES);
});

describe.each(['chat', 'messages'] as const)('on a %s target', (to) => {
  test.each(Object.entries(FIELDS))(
    `a ${to} target treats %s of a responses request by its class`,
    (field, [fate, value]) => {
      const expected = typeof fate === 'string' ? fate : fate[to];
      expect(fateOf(to, { ...BASE, [field]: value }, BASE)).toBe(expected);
    },
  );

  test(`a ${to} target gets every kind of the SDK's input items, or it is named or refused`, () => {
    const fates = fatesByKind(ITEMS, (item) => fateOf(to, withItem(item), withItems([])));
    const kinds = Object.keys(fates);
    expect(kinds.filter((kind) => fates[kind] === 'carried').toSorted()).toEqual(
      CARRIED.items.toSorted(),
    );
    expect(kinds.filter((kind) => fates[kind] === 'refused').toSorted()).toEqual(REFUSED_ITEMS);
    expect(kinds.filter((kind) => fates[kind] === 'harmless')).toEqual([]);
  });

  test(`a ${to} target gets every kind of the SDK's tools, or it is named`, () => {
    const fates = fatesByKind(TOOLS, (tool) => fateOf(to, withTool(tool), { ...BASE, tools: [] }));
    const kinds = Object.keys(fates);
    expect(kinds.filter((kind) => fates[kind] !== 'named').toSorted()).toEqual(
      CARRIED.tools.toSorted(),
    );
  });

  test(`no nested member of the SDK's responses request is lost in silence on a ${to} target without a listed reason`, async () => {
    const bodies = [
      ...ITEMS.filter((item) => CARRIED.items.includes(kindOf(item))).map(withItem),
      ...TOOLS.filter((tool) => CARRIED.tools.includes(kindOf(tool))).map(withTool),
      // A format of text is the default.
      ...SETTINGS.filter(({ text }) => text.format.type !== 'text'),
    ];
    const accepted = bodies.filter((body) => !isRefused(body));
    const lost = await withoutEffect(accepted, translate(to));
    expectListed(new Set(lost.map(generalized)), { ...SILENT, ...SILENT_ON[to] });
  });
});
