import { describe, expect, test } from 'vitest';
import { HARMLESS } from '../../../lambdas/protocols/losses.ts';
import { callerProtocols, upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { covers, differencesIn, withoutEffect } from '../../support/member-paths.ts';
import { samplesOf } from '../../support/samples-of-type.ts';

type Reasons = Record<string, string>;
type Law = {
  from: 'chat' | 'messages' | 'responses';
  module: string;
  type: string;
  values: Record<string, unknown>;
  made?: Reasons;
  silent: Partial<Record<'chat' | 'messages', Reasons>>;
};

const IMAGE = 'https://a.test/a.png';
const LAWS: Law[] = [
  {
    from: 'chat',
    module: 'openai/resources/chat/completions/completions',
    type: 'ChatCompletionCreateParamsBase',
    values: { functions: undefined, '.function_call': undefined, 'image_url.url': IMAGE, max_completion_tokens: undefined, 'function.arguments': '{"a":"b"}', 'function.name': 'look', 'custom.name': 'draw', max_tokens: 9, n: undefined, temperature: 0.5, top_p: undefined,'parameters': {type:'object', properties:{a:{type:'string'}}}, file_data: 'data:application/pdf;base64,JVBERi0=', schema:{type:'object'}, tool_choice:undefined, 'tool_call_id':'id' },
    silent: {},
  },
  {
    from: 'messages',
    module: '@anthropic-ai/sdk/resources/beta/messages/messages',
    type: 'MessageCreateParamsBase',
    values: { betas: undefined, thread: undefined, 'source.data': 'JVBERi0=', 'source.url': IMAGE, input_schema: {type:'object'}, temperature:0.5, top_p:0.5, max_tokens: 9, 'tools.name':'look', 'message.role':'user', 'mid_conv_system.content': 'x', output_format: undefined },
    silent: {},
  },
  {
    from: 'responses',
    module: 'openai/resources/responses/responses',
    type: 'ResponseCreateParamsBase',
    values: { previous_response_id: undefined, conversation: undefined, background: undefined, prompt: undefined, context_management: undefined },
    silent: {},
  },
];

const TARGET = { model: 'm', maxOutputTokens: 9_000, thinking: undefined };

describe.each(LAWS)('$type', ({ from, module, type, values, made = {}, silent }) => {
  const samples = samplesOf(module, type, { values });
  const sent = (to: 'chat' | 'messages') => (body: unknown) => {
    const request = callerProtocols[from].decodeRequest(body);
    const { encodeRequest, losses, cannotSay } = upstreamProtocols[to];
    return [encodeRequest(request, TARGET), losses(request, TARGET), cannotSay(request)];
  };
  test('same', () => {
    if (from === 'responses') return;
    const found = new Set<string>(); const errors = new Map();
    for (const [i,sample] of samples.entries()) { try {
      for (const path of differencesIn(sample, JSON.parse(JSON.stringify(sent(from)(sample)[0])))) found.add(path);
      } catch (e) { errors.set(String(e).slice(0,300), i); } }
    console.log(samples.length, [...errors]);
    console.log('same', from, [...found].join('\n'));
  });
  test.each(['chat', 'messages'].filter((to) => to !== from))('to %s', async (to) => {
    const ok = samples.filter((s) => { try { sent(to as 'chat')(s); return true } catch { return false } });
    console.log(ok.length, 'silent', from, to, (await withoutEffect(ok, sent(to as 'chat'))).join('\n'));
  });
});
