import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { callerProtocols } from '../../../../lambdas/protocols/protocols.ts';
import {
  interpretErrorBody,
  interpretSentError,
} from '../../../../lambdas/protocols/rejections/error-body.ts';
import { apiError, invalidRequest } from '../../../../lambdas/support/errors.ts';
import { ChatError } from '../../../support/chat-schema.ts';
import { FAMILIES } from '../../../support/families.ts';
import { MessagesError } from '../../../support/messages-schema.ts';

const folder = fileURLToPath(new URL('../../../fixtures/refusals', import.meta.url));
/** `overflow-…` says that the prompt is too long, `other-…` something else. */
const bodies = readdirSync(folder).map((name) => ({
  name,
  body: readFileSync(join(folder, name), 'utf8'),
}));

test.each([
  '{"detail":[{"loc":["body",{"toString":1}],"msg":"x"}]}',
  `{"detail":[{"loc":["body",${'['.repeat(30_000)}${']'.repeat(30_000)}],"msg":"x"}]}`,
  '{"error":{"code":{"toString":1,"valueOf":1},"message":"x"}}',
])('an error body whose members cannot be written as text is read: %.40s', (body) => {
  expect(interpretErrorBody(400, body, 0).kind).toBe('status');
  expect(() => interpretSentError(JSON.parse(body), 0)).not.toThrow();
});

test.each(['constructor', '__proto__'])(
  'an error about a field of the name %s keeps its name',
  (param) => {
    const error = invalidRequest(`${param}: not accepted.`, { param });
    expect(callerProtocols.responses.encodeError(error, 'req_1')).toMatchObject({
      error: { message: `${param}: not accepted.`, param },
    });
  },
);

describe('a refusal by an upstream', () => {
  test.each(bodies)('$name', ({ name, body }) => {
    const { kind } = interpretErrorBody(400, body, 0);
    expect(kind === 'context-overflow').toBe(name.startsWith('overflow-'));
  });

  test.each([
    ['openai', 130_001, 128_000],
    ['anthropic', 213_462, 200_000],
    ['gemini', 1_200_000, 1_048_576],
    ['deepseek', 140_000, 131_072],
    ['mistral', 40_000, 32_768],
    ['kimi', 300_000, 262_144],
    ['xai', 200_000, 131_072],
    ['vllm', 5_000, 4_096],
    ['copilot', 138_898, 64_000],
  ])(
    'the error of %s for a prompt that is too long yields its token counts',
    (vendor, tokens, most) => {
      const { body = '' } = bodies.find(({ name }) => name === `overflow-${vendor}.json`) ?? {};
      const refusal = { kind: 'context-overflow', overflow: { tokens, most } };
      expect(interpretErrorBody(400, body, 0)).toMatchObject(refusal);
    },
  );

  test.each([
    ['openai-unsupported-value', ['temperature', 'temperature']],
    ['anthropic-range', ['temperature']],
    ['fastapi-detail', ['temperature']],
    ['quoted-without-param', ['temperature']],
    ['anthropic-unknown-field', ['context_management']],
    ['anthropic-signature', ['messages.1.content.0']],
    ['openai-tool', ['messages', 'tool_calls', 'tool_call_id']],
    ['html', []],
    ['empty', []],
  ])("an upstream's error body names the rejected parameters: %s", (name, fields) => {
    const { body = '' } = bodies.find((each) => each.name === `other-${name}.json`) ?? {};
    expect(interpretErrorBody(400, body, 0)).toMatchObject({ kind: 'status', paths: fields });
  });

  test('implausible token counts in an error body are ignored', () => {
    const message = 'maximum context length is 5 tokens, you requested 3 tokens';
    const body = JSON.stringify({ error: { message } });
    expect(interpretErrorBody(400, body, 0)).toMatchObject({
      kind: 'context-overflow',
      overflow: undefined,
    });
  });
});

const PROMPT = "prompt is too long: my 'maximum context length' is 9 tokens";

describe('an error that echoes the request', () => {
  test.each([
    { error: { message: 'Bad request', input: PROMPT } },
    { detail: [{ loc: ['body', 'logit_bias'], msg: 'Input should be a dict', input: PROMPT }] },
    { error: { message: `Invalid value for logit_bias: ${PROMPT}` } },
    { error: { message: `Invalid type for 'logit_bias': expected a map, got "${PROMPT}"` } },
    { error: { message: `1 validation error [{'type': 'dict_type', 'input': '${PROMPT}'}]` } },
    { error: { message: `unexpected token at \`${PROMPT}\`` } },
    PROMPT,
  ])('an error that echoes the prompt is not taken for a context overflow: %j', (body) => {
    expect(interpretErrorBody(400, JSON.stringify(body), 0).kind).toBe('status');
  });

  test('an error in plain text is not taken for a context overflow', () => {
    expect(interpretErrorBody(400, PROMPT, 0)).toMatchObject({ kind: 'status', words: undefined });
  });
});

const SCHEMA = { chat: ChatError, messages: MessagesError };
const overflow = invalidRequest('prompt is too long: 9 tokens > 8 maximum', {
  code: 'context_length_exceeded',
  param: 'messages',
});

describe.each(FAMILIES)('an error for a caller of %s', (to) => {
  test.each([overflow, apiError('The model is temporarily unavailable.')])('%s', (error) => {
    const body = callerProtocols[to].encodeError(error, 'req_1');
    expect(SCHEMA[to].safeParse(body).error).toBeUndefined();
    expect(body).toMatchObject({ error: { type: error.type, message: error.message } });
  });
});
