import { existsSync, globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readSse } from '../../support/sse-text.ts';
import { exportedType, membersOf } from '../../support/type-declarations.ts';

/**
 * The members of a response of the responses protocol in the official SDK's types, against all that the goldens
 * hold. The router alone writes them, so a member is written or listed here with the reason why not.
 */
type Json = Record<string, unknown>;
type Law = { type: string; isOne: (value: Json) => boolean; never: Record<string, string> };

const STORED = 'nothing is stored here';
const NOT_SENT = 'a field that is dropped, and named';
const HOSTED = 'only tools that the vendor runs have it';
const NOT_STATED = 'no upstream states it';

const ofType = (type: string) => (value: Json) => value.type === type;

const LAWS: Law[] = [
  {
    type: 'Response',
    isOne: ({ object }) => object === 'response',
    never: {
      output_text: 'the SDK adds it',
      conversation: STORED,
      image: HOSTED,
      input_transformations: NOT_STATED,
      moderation: NOT_SENT,
      prompt: STORED,
      prompt_cache_diagnostics: NOT_STATED,
      prompt_cache_options: NOT_SENT,
      prompt_cache_retention: NOT_SENT,
      tool_usage: HOSTED,
      user: 'the end user is not repeated',
    },
  },
  { type: 'ResponseOutputMessage', isOne: ofType('message'), never: { phase: NOT_STATED } },
  {
    type: 'ResponseReasoningItem',
    isOne: ofType('reasoning'),
    never: { content: 'thinking is in `summary`', status: 'the SDK sends it back only' },
  },
  {
    type: 'ResponseFunctionToolCall',
    isOne: ofType('function_call'),
    never: { async: HOSTED, caller: HOSTED },
  },
  {
    type: 'ResponseCustomToolCall',
    isOne: ofType('custom_tool_call'),
    never: { async: HOSTED, caller: HOSTED },
  },
  { type: 'ResponseOutputText', isOne: ofType('output_text'), never: {} },
  { type: 'ResponseOutputRefusal', isOne: ofType('refusal'), never: {} },
];

/** The vendor sends them, and its type lacks them. */
const UNTYPED = ['store', 'frequency_penalty', 'presence_penalty'];

const fixtures = fileURLToPath(new URL('../../fixtures', import.meta.url));
const read = (pattern: string): string[] =>
  globSync(`${fixtures}/${pattern}`)
    .filter((path) => !existsSync(path.replace('/for-responses', '/upstream.responses')))
    .map((path) => readFileSync(path, 'utf8'));
const events = read('streams/*/for-responses.sse').flatMap((text) =>
  readSse(text).map(({ data }): unknown => JSON.parse(data)),
);
const whole = read('responses/*/for-responses.json').map((text): unknown => JSON.parse(text));

const objectsIn = (value: unknown): Json[] => {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.values(value).flatMap(objectsIn);
  return Array.isArray(value) ? inner : [value as Json, ...inner];
};
const written = [...events, ...whole].flatMap(objectsIn);

test.each(LAWS)("the SDK's members of a $type are written, or listed with a reason", (law) => {
  const found = new Set(written.filter(law.isOne).flatMap(Object.keys));
  const declared = exportedType('openai/resources/responses/responses', law.type);
  const names = [...UNTYPED, ...membersOf(declared).map(({ name }) => name)];
  expect({
    'not written': names.filter((name) => !found.has(name) && !UNTYPED.includes(name)).toSorted(),
    'not in the type': [...found].filter((name) => !names.includes(name)),
  }).toEqual({ 'not written': Object.keys(law.never).toSorted(), 'not in the type': [] });
});
