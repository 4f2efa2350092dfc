import { describe, expect, test } from 'vitest';
import { HARMLESS } from '../../../lambdas/protocols/ledger/losses.ts';
import { callerProtocols, upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import {
  covers,
  differencesIn,
  expectListed,
  type Reasons,
  type Translated,
  withoutEffect,
} from '../../support/member-paths.ts';
import { samplesOf } from '../../support/samples-of-type.ts';

/**
 * Every member of a request in the official SDKs' types, those of parts, tools and settings too: a target of the
 * other protocol gets it translated, or it is reported (`x-router-dropped`, or a 400 where it is essential), or
 * it is listed here with the reason why its loss is silent. A new version of an SDK that brings a member fails
 * here: translate it, name it in `lambdas/protocols/ledger/losses.ts`, or list it.
 */
type Law = {
  from: 'chat' | 'messages';
  module: string;
  type: string;
  /** What the types do not state. */
  values: Record<string, unknown>;
  /** What a target of the same protocol gets in another form. */
  changed: Reasons;
  /** What a target of the other protocol lacks, unreported, next to the harmless fields. */
  silent: Reasons;
};

const CACHE = 'a cache point changes no response';
const REFUSED = 'the part is refused as a whole, in the assistant’s turns left out';
const DEFAULT = 'the default';
const ONE_TEXT = 'content of one plain text is sent as a string';
const OF_UPSTREAM = 'known to the upstream that wrote it only';
const PDF = 'data:application/pdf;base64,JVBERi0=';
const OBJECT = { type: 'object', properties: { a: { type: 'string' } } };

let count = 0;
const newId = () => `toolu_${count++}`;

const LAWS: Law[] = [
  {
    from: 'chat',
    module: 'openai/resources/chat/completions/completions',
    type: 'ChatCompletionCreateParamsBase',
    values: {
      // The older form excludes tools, the older name of the cap the newer one.
      functions: undefined,
      max_tokens: undefined,
      max_completion_tokens: 9,
      'image_url.url': 'https://a.test/a.png',
      'image_url.detail': 'high',
      'file.file_data': PDF,
      'function.arguments': '{"a":"b"}',
      'function_call.arguments': '{"a":"b"}',
      'function.name': 'look',
      'custom.name': 'draw',
      parameters: OBJECT,
      schema: OBJECT,
      'allowed_tools.tools': [
        { type: 'function', function: { name: 'look' } },
        { type: 'custom', custom: { name: 'draw' } },
      ],
      temperature: 0.5,
      top_p: undefined,
    },
    changed: {
      model: 'the target’s',
      'messages[developer]': 'every upstream knows `system`',
      'messages[assistant].content': 'a refusal is a member of the message',
      'messages[assistant].refusal': 'the refusals of the content are part of it',
      'messages[tool].content[text]': ONE_TEXT,
      'messages[user].content[file].file.file_id': 'the file is sent with its data',
      function_call: 'the vendor rejects it without `functions`',
      response_format: DEFAULT,
    },
    silent: {
      'message.cache': CACHE,
      'message.content[input_audio]': REFUSED,
      'message.content[file].file.file_id': 'the file is sent with its data',
      'messages[assistant].name': 'agents echo it',
      function_call: 'the vendor rejects it without `functions`',
      modalities: DEFAULT,
      'response_format[text]': DEFAULT,
      'response_format[json_schema].json_schema.name': 'a label of the schema',
      'response_format[json_schema].json_schema.strict': 'the vendor always enforces a schema',
      'tools[custom].custom.format[text]': DEFAULT,
    },
  },
  {
    from: 'messages',
    module: '@anthropic-ai/sdk/resources/beta/messages/messages',
    type: 'MessageCreateParamsBase',
    values: {
      // A header; stored threads are refused; the older name of `output_config.format`.
      betas: undefined,
      thread: undefined,
      output_format: undefined,
      'fallbacks.output_config': undefined,
      'messages.output_config': { effort: 'low' },
      'source.data': 'JVBERi0=',
      'source.url': 'https://a.test/a.png',
      'tool_use.id': newId,
      'tools.name': 'look',
      'tools.allowed_callers': ['code_execution_20260120'],
      input_schema: OBJECT,
      temperature: 0.5,
      top_p: 0.5,
      max_tokens: 9,
    },
    changed: {
      model: 'the target’s',
      'messages[assistant].content[tool_use].id': 'ids are unique',
      'context_management.edits[clear_thinking_20251015]': 'the vendor rejects it without thinking',
      'system[text]': ONE_TEXT,
      'thinking[enabled]': 'off in a loop of tools whose thinking was lost',
    },
    silent: {
      'message.cache': CACHE,
      'message.content[native]': REFUSED,
      'message.content[redacted_thinking].data': OF_UPSTREAM,
      'message.content[tool_result].toolset_name': OF_UPSTREAM,
      'message.content[document].source[text].media_type': DEFAULT,
      'message.content[document].source[content]': REFUSED,
      'message.content[document].source[file]': REFUSED,
      'message.content[image].source[file]': REFUSED,
      'output_config.effort': 'nothing to weigh with thinking off',
      'tools[custom].cache_control': CACHE,
      'tools[custom].defer_loading': 'the tool is offered at once',
      'tools[custom].eager_input_streaming': 'a way to send a call, not its content',
      'tools[native]': REFUSED,
    },
  },
];

const NATIVE = [
  ...['\\w+_tool_result', '\\w+_tool_use', 'mcp_\\w+', 'container_upload', 'browser_state'],
  ...['tool_addition', 'tool_removal', 'fallback', 'compaction'],
].join('|');

/** One path for the same member of many places. */
const generalized = (path: string): string =>
  path
    .replace(/^messages\[\w+\]\.content(?:\[tool_result\]\.content)?\[/, 'message.content[')
    .replace(
      /^message\.content\[\w+\]\.(?:cache_control|prompt_cache_breakpoint).*/,
      'message.cache',
    )
    .replace(new RegExp(`^message\\.content\\[(?:${NATIVE})\\]`), 'message.content[native]')
    .replace(/^tools\[\w+_\w+\]/, 'tools[native]');

/** The types allow blocks of the assistant's in user turns; no vendor does. */
const isMisplaced = (path: string): boolean =>
  /^messages\[user\]\.content\[(?:tool_use|thinking|redacted_thinking)\]/.test(path);

const TARGET = {
  model: 'm',
  maxOutputTokens: 9_000,
  headers: { 'anthropic-beta': 'context-management-2025-06-27' },
};

const translate =
  (from: Law['from'], to: Law['from']) =>
  (body: unknown): Translated => {
    const request = callerProtocols[from].decodeRequest(body);
    const { encodeRequest, losses, cannotSay } = upstreamProtocols[to];
    return {
      sent: JSON.parse(JSON.stringify(encodeRequest(request, TARGET))),
      reported: [losses(request, TARGET), cannotSay(request)],
    };
  };

/** A document by URL is refused as a whole. */
const isAccepted = (encode: (body: unknown) => unknown, sample: unknown): boolean => {
  try {
    encode(sample);
    return true;
  } catch {
    return false;
  }
};

describe.each(LAWS)('a $type', ({ from, module, type, values, changed, silent }) => {
  const samples = samplesOf(module, type, { values });

  test(`a ${from} request with every member of the SDK's type reaches a target of its protocol`, () => {
    const again = translate(from, from);
    const found = samples.flatMap((sample) => differencesIn(sample, again(sample).sent));
    expectListed(new Set(found), changed);
  });

  test(`no member of the SDK's type of a ${from} request is lost in silence without a listed reason`, async () => {
    const to = from === 'chat' ? 'messages' : 'chat';
    const encode = translate(from, to);
    const accepted = samples.filter((sample) => isAccepted(encode, sample));
    expect(accepted.length).toBeGreaterThan(samples.length / 3);
    const lost = await withoutEffect(accepted, encode);
    const harmless = HARMLESS[from] ?? [];
    const unexpected = lost
      .filter((path) => !isMisplaced(path))
      .filter((path) => !harmless.some((name) => covers(name, path)))
      .map(generalized);
    expectListed(new Set(unexpected), silent);
  });
});
