import { describe, test } from 'vitest';
import { upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { createOriginTagger } from '../../../lambdas/protocols/thinking/origin.ts';
import {
  differencesIn,
  expectListed,
  type Reasons,
  withoutEffect,
} from '../../support/member-paths.ts';
import { samplesOf } from '../../support/samples-of-type.ts';
import { requestOf, wholeFor } from '../../support/translate.ts';

/**
 * Every member of a whole response in the official SDKs' types, nested ones too. A new version of an SDK that
 * brings a member fails here, unless its protocol carries it: carry it in `lambdas/protocols/`, or list it with
 * the reason.
 */
type Law = {
  from: 'chat' | 'messages' | 'gemini';
  module: string;
  type: string;
  /** What a type does not state. */
  values: Record<string, unknown>;
  /** Members that a caller of the same protocol, if there is one, reads with another value. */
  made: Reasons;
  /** Members that callers of the other protocols do not get. */
  dropped: Reasons;
  /** Of these, the callers of one of them. */
  droppedFor?: Partial<Record<'chat' | 'messages' | 'responses', Reasons>>;
};

/** Calls with one id are fragments of one call. */
const createId = () => {
  let count = 0;
  return () => `given_${count++}`;
};

const ORIGIN = 'eeeeeeeeeeee';
const NAMED = 'the router names its responses';
const TAGGED = 'tagged with its origin, untagged when it is sent back';
const OF_SERVICE = 'how the provider served the request';
const UPSTREAM_TOOL = 'the call or result of a tool that the upstream ran';
const NO_FORM = 'the protocols have no form for it';

const UPSTREAM_TOOLS = [
  ...['server_tool_use', 'web_search_tool_result', 'web_fetch_tool_result', 'container_upload'],
  ...['code_execution_tool_result', 'bash_code_execution_tool_result', 'tool_search_tool_result'],
  'text_editor_code_execution_tool_result',
];
const BETA_TOOLS = ['advisor_tool_result', 'mcp_tool_use', 'mcp_tool_result', 'mcp_tool_listing'];
const blocks = (kinds: string[], reason: string): Reasons =>
  Object.fromEntries(kinds.map((kind) => [`content[${kind}]`, reason]));

const MESSAGE: Omit<Law, 'module' | 'type'> = {
  from: 'messages',
  values: { stop_reason: 'tool_use', 'tool_use.name': 'look', service_tier: 'standard' },
  made: {
    id: NAMED,
    model: NAMED,
    'container.id': TAGGED,
    'content[thinking].signature': TAGGED,
    'content[redacted_thinking].data': TAGGED,
  },
  dropped: {
    id: NAMED,
    model: NAMED,
    container: 'belongs to the upstream',
    'content[text].citations': NO_FORM,
    ...blocks(UPSTREAM_TOOLS, UPSTREAM_TOOL),
    diagnostics: OF_SERVICE,
    stop_details: 'in the words of the vendor',
    stop_sequence: NO_FORM,
    'usage.cache_creation': OF_SERVICE,
    'usage.inference_geo': OF_SERVICE,
    'usage.server_tool_use': UPSTREAM_TOOL,
    'usage.service_tier': OF_SERVICE,
    'usage.speed': OF_SERVICE,
  },
  droppedFor: {
    chat: {
      'content[tool_use].caller': NO_FORM,
      'content[tool_use].toolset_name': NO_FORM,
    },
  },
};

const NAMES = { id: NAMED, model: NAMED, created: NAMED };
const OLDER_FORM = 'only for requests with `functions`: requests/chat-functions';
const counts = (member: string, names: string[]): Reasons =>
  Object.fromEntries(names.map((name) => [`usage.${member}.${name}_tokens`, NO_FORM]));
const OTHER_COUNTS = {
  ...counts('prompt_tokens_details', ['audio', 'image', 'text']),
  ...counts('completion_tokens_details', [
    ...['accepted_prediction', 'rejected_prediction', 'audio', 'text'],
  ]),
};

const LAWS: Law[] = [
  {
    from: 'chat',
    module: 'openai/resources/chat/completions/completions',
    type: 'ChatCompletion',
    values: {
      'function.arguments': '{"a":"b"}',
      'custom.name': 'draw',
      'custom.input': '{"a":"b"}',
      'message.function_call': null,
      'tool_calls.id': createId(),
      finish_reason: 'tool_calls',
      'choices.index': 0,
      completion_tokens: 7,
      prompt_tokens: 9,
      total_tokens: 16,
    },
    made: { id: NAMED, model: NAMED, 'choices.message[assistant].function_call': OLDER_FORM },
    dropped: {
      ...NAMES,
      'usage.completion_tokens': 'the rest of the total',
      object: NAMED,
      'choices.index': 'only chat has several choices',
      'choices.logprobs': NO_FORM,
      'choices.message[assistant].annotations': NO_FORM,
      'choices.message[assistant].audio': 'only targets of chat are called for it',
      'choices.message[assistant].function_call': OLDER_FORM,
      metadata: 'what a caller of chat sent',
      moderation: NO_FORM,
      system_fingerprint: OF_SERVICE,
      'usage.total_tokens': 'the sum of the others',
      ...OTHER_COUNTS,
    },
    droppedFor: { messages: { service_tier: OF_SERVICE } },
  },
  { ...MESSAGE, module: '@anthropic-ai/sdk/resources/messages/messages', type: 'Message' },
  {
    ...MESSAGE,
    module: '@anthropic-ai/sdk/resources/beta/messages/messages',
    type: 'BetaMessage',
    dropped: {
      ...MESSAGE.dropped,
      ...blocks(BETA_TOOLS, UPSTREAM_TOOL),
      'content[compaction]': 'the upstream’s summary, for its next request',
      'content[fallback]': OF_SERVICE,
      context_management: OF_SERVICE,
      input_transformations: OF_SERVICE,
      'usage.fallback_credit': OF_SERVICE,
      'usage.iterations': OF_SERVICE,
    },
  },
];

const GOOGLE = '@google/genai';

/** A part has one of these members; the signature is on the part behind thinking. */
const parts = () => {
  const [part] = samplesOf(GOOGLE, 'Part', { values: { 'functionCall.name': 'look' } });
  const { text, thought, thoughtSignature, ...others } = part as Record<string, unknown>;
  return [
    { text: 'Hm.', thought, thoughtSignature },
    { text },
    ...Object.entries(others).map(([name, value]) => ({ [name]: value })),
  ];
};

const members = (before: string, names: string[], reason: string): Reasons =>
  Object.fromEntries(names.map((name) => [`${before}${name}`, reason]));
const PARTS = 'candidates.content[role].parts';
const GROUNDING = 'candidates.groundingMetadata';
const CHUNKS = ['maps', 'image', 'retrievedContext', 'web.domain'];
const SUPPORTS = ['confidenceScores', 'segment.partIndex', 'segment.text', 'renderedParts'];
const SEARCHES = [
  ...['retrievalMetadata', 'searchEntryPoint', 'webSearchQueries', 'imageSearchQueries'],
  ...['googleMapsWidgetContextToken', 'retrievalQueries', 'sourceFlaggingUris'],
];
const MODALITIES = ['cache', 'candidates', 'prompt', 'toolUsePrompt'].map(
  (name) => `${name}TokensDetails`,
);

const GEMINI: Law = {
  ...{ from: 'gemini', module: GOOGLE, type: 'GenerateContentResponse' },
  values: {
    'content.parts': parts,
    'candidates.finishReason': 'STOP',
    'groundingSupports.groundingChunkIndices': [0],
    'promptTokensDetails.modality': 'AUDIO',
  },
  made: {},
  dropped: {
    ...members('', ['sdkHttpResponse', 'automaticFunctionCallingHistory'], 'the SDK makes it'),
    ...members('', ['modelVersion', 'responseId', 'createTime'], NAMED),
    ...members('', ['modelStatus', 'usageMetadata.trafficType'], OF_SERVICE),
    promptFeedback: 'its reason ends an answer without a candidate: streams/google-prompt-blocked',
    ...members(`${PARTS}.`, ['toolCall', 'toolResponse', 'functionResponse'], UPSTREAM_TOOL),
    ...members(`${PARTS}.`, ['codeExecutionResult', 'executableCode'], UPSTREAM_TOOL),
    ...members(
      `${PARTS}.`,
      ['inlineData', 'fileData', 'audioTranscription'],
      'only text is asked for',
    ),
    ...members(`${PARTS}.`, ['mediaResolution', 'videoMetadata', 'mediaProcessing'], 'of media'),
    ...members(`${PARTS}.`, ['partMetadata', 'speechMetadata'], NO_FORM),
    ...members(`${PARTS}.functionCall.`, ['partialArgs', 'willContinue'], 'not asked for'),
    ...members('candidates.', ['index', 'continuationToken'], 'one candidate is asked for'),
    ...members('candidates.', ['avgLogprobs', 'logprobsResult'], 'not asked for'),
    ...members('candidates.', ['finishMessage', 'safetyRatings'], 'in the words of the vendor'),
    ...members('candidates.', ['citationMetadata', 'urlContextMetadata'], NO_FORM),
    ...members(
      '',
      ['candidates.tokenCount', 'usageMetadata.totalTokenCount'],
      'the others state it',
    ),
    ...members('usageMetadata.', MODALITIES, 'for the price alone'),
    'usageMetadata.initialPromptTokenCount': 'one request is sent',
  },
  droppedFor: {
    chat: {
      ...members(`${GROUNDING}.groundingChunks.`, CHUNKS, 'not a page of the web'),
      ...members(`${GROUNDING}.groundingSupports.`, SUPPORTS, NO_FORM),
      ...members(`${GROUNDING}.`, SEARCHES, UPSTREAM_TOOL),
    },
    messages: { [GROUNDING]: NO_FORM },
    responses: { [GROUNDING]: NO_FORM },
  },
};

const DRAW = { type: 'custom', custom: { name: 'draw' } };

const translate = (from: Law['from'], to: 'chat' | 'messages' | 'responses') => {
  const request = requestOf(to, { stream: false, ...(to === 'chat' && { tools: [DRAW] }) });
  return async (answer: unknown): Promise<{ sent: unknown }> => {
    const events = upstreamProtocols[from].decodeResponse(answer, request);
    const tagged = events.map(createOriginTagger(ORIGIN));
    return { sent: JSON.parse(await wholeFor(to, tagged, request)) };
  };
};

describe.each([...LAWS, GEMINI])('a $type', ({ from, module, type, values, made, ...law }) => {
  const samples = samplesOf(module, type, { values });

  test.each(from === 'gemini' ? [] : [from])(
    `a whole %s response with every member of the SDK's ${type} reaches a caller of its protocol`,
    async (to) => {
      const again = translate(from, to);
      const found = new Set<string>();
      for (const sample of samples) {
        const { sent } = await again(sample);
        for (const path of differencesIn(sample, sent)) found.add(path);
      }
      expectListed(found, made);
    },
  );

  test.each((['chat', 'messages', 'responses'] as const).filter((to) => to !== from))(
    `the members of the SDK's ${type} that a caller of %s does not get are listed with a reason`,
    async (to) => {
      const dropped = await withoutEffect(samples, translate(from, to));
      expectListed(dropped, { ...law.dropped, ...law.droppedFor?.[to] });
    },
  );
});
