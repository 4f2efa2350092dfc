import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { ESSENTIAL, HARMLESS } from '../../../lambdas/protocols/ledger/losses.ts';
import { callerProtocols, upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { ApiError } from '../../../lambdas/support/errors.ts';

/** What becomes of a field on a target of the other protocol; `header`: the SDK sends it as a header. */
type Fate = 'carried' | 'harmless' | 'named' | 'essential' | 'refused' | 'header';

const FUNCTION = { name: 'f', parameters: { type: 'object', properties: {} } };
const say = [{ role: 'user', content: 'hi' }];

/** Every field of the official SDK's request, with a value that is not its default. */
const FIELDS: Record<'chat' | 'messages', Record<string, [Fate, unknown]>> = {
  chat: {
    messages: ['carried', say],
    model: ['carried', 'm'],
    audio: ['essential', { voice: 'alloy', format: 'mp3' }],
    frequency_penalty: ['named', 1],
    function_call: ['carried', 'auto'],
    functions: ['carried', [FUNCTION]],
    logit_bias: ['named', { 5: 1 }],
    logprobs: ['named', true],
    max_completion_tokens: ['carried', 9],
    max_tokens: ['carried', 9],
    metadata: ['harmless', { a: 'b' }],
    modalities: ['essential', ['text', 'audio']],
    moderation: ['named', { model: 'm' }],
    n: ['essential', 2],
    parallel_tool_calls: ['carried', false],
    prediction: ['harmless', { type: 'content', content: 'x' }],
    presence_penalty: ['named', 1],
    prompt_cache_key: ['harmless', 'k'],
    prompt_cache_options: ['harmless', { mode: 'x' }],
    prompt_cache_retention: ['harmless', '24h'],
    reasoning_effort: ['carried', 'low'],
    response_format: ['carried', { type: 'json_object' }],
    safety_identifier: ['harmless', 'u'],
    seed: ['named', 1],
    service_tier: ['harmless', 'flex'],
    stop: ['carried', 'x'],
    store: ['harmless', true],
    stream: ['carried', true],
    stream_options: ['harmless', { include_usage: true }],
    temperature: ['carried', 0.5],
    tool_choice: ['carried', 'auto'],
    tools: ['carried', [{ type: 'function', function: FUNCTION }]],
    top_logprobs: ['named', 2],
    top_p: ['carried', 0.5],
    user: ['carried', 'u'],
    verbosity: ['harmless', 'low'],
    web_search_options: ['essential', {}],
  },
  messages: {
    max_tokens: ['carried', 9],
    messages: ['carried', say],
    model: ['carried', 'm'],
    betas: ['header', ['b']],
    billing_policy: ['named', 'x'],
    cache_control: ['harmless', { type: 'ephemeral' }],
    compaction: ['named', { type: 'x' }],
    container: ['named', 'c'],
    context_management: ['harmless', { edits: [{ type: 'x' }] }],
    diagnostics: ['named', { a: 1 }],
    fallback_credit_token: ['named', 'x'],
    fallbacks: ['named', [{ model: 'm' }]],
    inference_geo: ['harmless', 'us'],
    mcp_servers: ['essential', [{ type: 'url', url: 'https://a.test' }]],
    metadata: ['carried', { user_id: 'u' }],
    output_config: ['carried', { effort: 'low' }],
    output_format: ['carried', { type: 'json_schema', schema: {} }],
    service_tier: ['harmless', 'auto'],
    speed: ['harmless', 'fast'],
    stop_sequences: ['carried', ['x']],
    stream: ['carried', true],
    system: ['carried', 's'],
    temperature: ['carried', 0.5],
    thinking: ['carried', { type: 'disabled' }],
    thread: ['refused', { id: 't' }],
    tool_choice: ['carried', { type: 'auto' }],
    tools: ['carried', [{ name: 'f', input_schema: { type: 'object' } }]],
    top_k: ['named', 3],
    top_p: ['carried', 0.5],
    user_profile_id: ['named', 'u'],
    workspace_id: ['named', 'w'],
  },
};

const require = createRequire(import.meta.url);
const TYPES = {
  chat: ['openai/resources/chat/completions/completions'],
  messages: [
    '@anthropic-ai/sdk/resources/messages/messages',
    '@anthropic-ai/sdk/resources/beta/messages/messages',
  ],
};
const NAMES = ['ChatCompletionCreateParamsBase', 'MessageCreateParamsBase'];

/** The members of the SDK's type of a request. */
const membersIn = (module: string): string[] => {
  const path = require.resolve(module).replace(/\.js$/, '.d.ts');
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest);
  const type = source.statements.find(
    (one): one is ts.InterfaceDeclaration =>
      ts.isInterfaceDeclaration(one) && NAMES.includes(one.name.text),
  );
  return (type?.members ?? []).flatMap(({ name }) =>
    name && ts.isIdentifier(name) ? [name.text] : [],
  );
};

const fateOf = (from: 'chat' | 'messages', field: string, value: unknown): Fate => {
  const to = from === 'chat' ? 'messages' : 'chat';
  const body = { model: 'm', max_tokens: 9, messages: say, [field]: value };
  try {
    const request = callerProtocols[from].decodeRequest(body);
    const { cannotSay, losses } = upstreamProtocols[to];
    if (cannotSay(request).length > 0) return 'essential';
    if (losses(request, { model: 'm', maxOutputTokens: 9 }).includes(field)) return 'named';
    const isLeft = request.extras.fields[field] !== undefined;
    return isLeft && HARMLESS[from]?.includes(field) ? 'harmless' : 'carried';
  } catch (error) {
    if (error instanceof ApiError) return 'refused';
    throw error;
  }
};

describe.each(['chat', 'messages'] as const)('fields of %s', (from) => {
  const fields = Object.entries(FIELDS[from]);

  test(`every field of the official SDK's request of ${from} has a class`, () => {
    const members = TYPES[from].flatMap(membersIn);
    expect(members.length).toBeGreaterThan(15);
    expect(members.filter((name) => !(name in FIELDS[from]))).toEqual([]);
  });

  test.each(fields.filter(([, [fate]]) => fate !== 'header'))(
    `a target of the other protocol treats %s of ${from} by its class`,
    (field, [fate, value]) => {
      expect(fateOf(from, field, value)).toBe(fate);
    },
  );

  test(`docs/translation.md lists the fields of ${from} that x-router-dropped names`, () => {
    const page = readFileSync(new URL('../../../docs/translation.md', import.meta.url), 'utf8');
    const [, line = ''] = new RegExp(`^- Named, of ${from}: (.+)$`, 'm').exec(page) ?? [];
    const listed = [...line.matchAll(/`([^`]+)`/g)].map(([, name]) => name);
    const named = fields.flatMap(([name, [fate]]) => (fate === 'named' ? [name] : []));
    expect(listed).toEqual(named);
    const essential = fields.flatMap(([name, [fate]]) => (fate === 'essential' ? [name] : []));
    expect(essential).toEqual(expect.arrayContaining([...(ESSENTIAL[from] ?? [])]));
  });
});
