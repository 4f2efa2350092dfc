import { describe, expect, test } from 'vitest';
import { interpretErrorBody } from '../../../../lambdas/protocols/rejections/error-body.ts';
import { cleanReason } from '../../../../lambdas/protocols/rejections/reason.ts';
import { PROVIDER_ERRORS, textOf } from '../../../support/provider-errors.ts';
import { fc } from '../../../support/seeds.ts';

const NOTHING = { request: {}, credentials: [], hosts: [] };

describe('the clean reason of a published provider error', () => {
  test.each(PROVIDER_ERRORS.map((error) => [error.id, error] as const))(
    'the reason of %s is its message without private parts',
    (_, error) => {
      const { kind, words } = interpretErrorBody(error.status, textOf(error), 0);
      const reason = words === undefined ? undefined : cleanReason(words, NOTHING);
      expect({ kind, reason: reason ?? null }).toEqual({ kind: error.kind, reason: error.reason });
    },
  );
});

test("the reason of a gateway that quotes its provider's error as JSON is the provider's", () => {
  const inner = JSON.stringify({ detail: { error: { message: 'The city is unknown.' } } });
  const body = JSON.stringify({ detail: `Invalid request: Invalid request: ${inner}` });
  expect(interpretErrorBody(400, body, 0).words).toBe('The city is unknown.');
});

const PROMPT = 'The quarterly figures of Acme\nare confidential: revenue fell by 12 %.\n\nSay why.';
const asked = { messages: [{ role: 'user', content: PROMPT }] };
const cleaned = (words: string, credentials: string[] = [], request: object = asked) =>
  cleanReason(words, { ...NOTHING, request, credentials });

describe('a reason that echoes the request', () => {
  test.each([
    ['as it is', `Invalid value for logit_bias: ${PROMPT}`],
    [
      'with its line breaks escaped',
      `Invalid value for logit_bias: ${PROMPT.replaceAll('\n', '\\n')}`,
    ],
    [
      'with its characters escaped',
      `Invalid value for logit_bias: ${[...PROMPT].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}`,
    ],
    ['from its middle', `Invalid value for logit_bias: Acme are confidential: revenue fell by`],
    [
      'with its white space collapsed',
      `Invalid value for logit_bias: ${PROMPT.replace(/\s+/g, ' ')}`,
    ],
  ])('a prompt echoed %s ends the reason', (_, words) => {
    expect(cleaned(words)).toBe('Invalid value for logit_bias:');
  });

  test('a quoted sentence ends the reason even if it differs from the prompt', () => {
    const words = `Expected a map, got "the quarterly figures were changed on the way"`;
    expect(cleaned(words)).toBe('Expected a map, got');
  });

  test('a reason that is only an echo is left out', () => {
    expect(cleaned(PROMPT)).toBeUndefined();
  });

  test('a tool of the request may be named', () => {
    const request = {
      tools: [{ name: 'get_weather', parameters: { additionalProperties: true } }],
    };
    const words =
      "Invalid schema for function 'get_weather': 'additionalProperties' must be false.";
    expect(cleanReason(words, { ...NOTHING, request })).toBe(words);
  });

  test('no 16 letters and digits of any prompt are in the reason of a message that contains it in any spelling', () => {
    const letter = fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz0123456789éüñçøжщяλπωשםعمन한字の');
    const between = fc.constantFrom('', '', '', ' ', '-', '_', '. ', '\n', '"', '\u200b', '\u00a0');
    const spelled = fc.record({ letter, between, isUpper: fc.boolean(), other: between });
    const lettersOf = (text: string) => text.replace(/[^\p{L}\p{N}]/gu, '').toLowerCase();
    fc.assert(
      fc.property(
        fc.array(spelled, { minLength: 20, maxLength: 90 }),
        fc.nat(40),
        (units, from) => {
          const prompt = units.map((one) => one.letter + one.between).join('');
          const echo = units
            .slice(from)
            .map((one) => (one.isUpper ? one.letter.toUpperCase() : one.letter) + one.other)
            .join('');
          const reason = cleaned(`Invalid value: ${echo} is not allowed`, [], { prompt }) ?? '';
          const letters = lettersOf(prompt);
          const runs = Array.from({ length: Math.max(0, letters.length - 15) }, (_, at) =>
            letters.slice(at, at + 16),
          );
          expect(runs.filter((run) => lettersOf(reason).includes(run))).toEqual([]);
        },
      ),
    );
  });

  test.each([
    ['get_weather_today', "Invalid schema for function 'get_weather_today': must be closed"],
    ['a red fox', 'Invalid schema: must be closed'],
  ])('a text %j of the request that is short does not end the reason', (content, words) => {
    expect(cleaned(words, [], { content })).toBe(words);
  });
});

describe('the words of a reason', () => {
  test.each([
    ['an e-mail address', 'contact jane.doe+ai@acme.example now', 'contact [removed] now'],
    ['an IPv4 address with a port', 'from 10.1.2.3:8443 denied', 'from [removed] denied'],
    ['an IPv6 address', 'from 2001:db8::ff00:42:8329 denied', 'from [removed] denied'],
    ['a JSON Web Token', 'token eyJhbGciOiJIUzI1NiJ9.e30.abc expired', 'token [removed] expired'],
    ['a UUID', 'id 481c7584-ab46-4974-b86b-a4978384e229.', 'id [removed].'],
    [
      'a named account',
      "Organization 'acme corp' is closed",
      "Organization '[removed] corp' is closed",
    ],
    [
      'a key as a parameter',
      'call with key=AIzaSyA1234567890 failed',
      'call with [removed] failed',
    ],
    ['the credential', 'bad key hunter2-is-secret!', 'bad key [removed]!'],
    [
      'a name of a model',
      'no claude-sonnet-4-5-20250929 here',
      'no claude-sonnet-4-5-20250929 here',
    ],
    ['a path of a field', 'messages.0.content.1: bad', 'messages.0.content.1: bad'],
    ['a sentence about an account', 'your account does not exist', 'your account does not exist'],
  ])('%s is kept or removed as documented', (_, words, expected) => {
    expect(cleaned(words, ['hunter2-is-secret'])).toBe(expected);
  });

  test('control characters and overrides of the writing direction are removed', () => {
    expect(cleaned('bad\u001b[31m \u202evalue\u200b\r\nhere')).toBe('bad [31m value here');
  });

  test('a reason has at most 200 characters', () => {
    expect(cleaned('long '.repeat(100))).toHaveLength(200);
  });

  test('words without a letter are left out', () => {
    expect(cleaned('400: https://a.example')).toBeUndefined();
  });
});

describe('hostile error texts', () => {
  test.each([
    ['a prompt of 5 MB', 'Invalid value: nothing that is shared', 'x y '.repeat(1_300_000)],
    [
      'a prompt of the message, repeated',
      'the same words again and again',
      'the same words again and again',
    ],
    ['a message of one character', 'a'.repeat(64_000), 'b'],
    ['a message of quotes', '"'.repeat(64_000), 'b'],
    ['a message of dots', 'a.'.repeat(32_000), 'b'],
    ['a message of colons', ':'.repeat(64_000), 'b'],
  ])('a reason from %s has at most 200 characters', (_, words, part) => {
    const request = { content: part.repeat(Math.ceil(5_000_000 / part.length)) };
    interpretErrorBody(400, JSON.stringify({ error: { message: words } }), 0);
    // A quadratic search of 64,000 characters in 5 MB would exceed the time limit of a test.
    const reason = cleanReason(words, { ...NOTHING, request }) ?? '';
    expect(reason.length).toBeLessThanOrEqual(200);
  });
});
