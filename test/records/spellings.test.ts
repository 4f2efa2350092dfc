import { createServer, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { type Listening, listen } from '../../local/loopback.ts';
import type { LocalRouter } from '../../local/start.ts';
import { post, startWatched } from '../support/local.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { chatWire } from '../support/translate.ts';

const CREDENTIAL = 'sk-Qw7rT2yU9pL4kJ8hG5fZ';
const PROMPT =
  'Hortensia bought eleven crooked lanterns yesterday because Augustin forgot whether gondolas require varnish';
const WORDS = PROMPT.split(' ');

const joined = (separator: string) => WORDS.join(separator);
const each = (write: (code: number, character: string) => string) =>
  [...PROMPT].map((one) => write(one.charCodeAt(0), one)).join('');
const hex = (code: number, digits: number) => code.toString(16).padStart(digits, '0');

/** How a provider may quote a prompt. */
const PROMPTS: Record<string, string> = {
  'as it is': PROMPT,
  quoted: `"${PROMPT}"`,
  'in JSON in JSON': JSON.stringify(JSON.stringify(PROMPT)),
  'in upper case': PROMPT.toUpperCase(),
  'in lower case': PROMPT.toLowerCase(),
  'in words that begin with capitals': PROMPT.replace(/\b\w/g, (one) => one.toUpperCase()),
  'with its words joined by +': joined('+'),
  'with its words joined by -': joined('-'),
  'with its words joined by _': joined('_'),
  'with its words joined by &nbsp;': joined('&nbsp;'),
  'with its words joined by no-break spaces': joined('\u00a0'),
  'with its words joined by spaces without width': joined('\u200b'),
  'with its words joined by commas': joined(', '),
  'as one word': joined(''),
  'one word a line': joined('\n'),
  'as a list of quoted words': JSON.stringify(WORDS),
  'as a list of quoted words in upper case': JSON.stringify(WORDS).toUpperCase(),
  'with a dot after each character': each((_, one) => `${one}.`),
  'with a character without width after each': each((_, one) => `${one}\u200d`),
  'in wide characters': each((code, one) =>
    one === ' ' ? ' ' : String.fromCharCode(code + 0xfee0),
  ),
  'with an accent on each character': each((_, one) => (one === ' ' ? one : `${one}\u0301`)),
  'encoded for a URL': encodeURIComponent(PROMPT),
  'encoded for a URL, each byte': each((code) => `%${hex(code, 2)}`),
  'in \\u': each((code) => `\\u${hex(code, 4)}`),
  'in \\x': each((code) => `\\x${hex(code, 2)}`),
  'in numbered entities': each((code) => `&#${code};`),
  'in entities by hexadecimal numbers': each((code) => `&#x${hex(code, 2)};`),
  'in base64': Buffer.from(PROMPT).toString('base64'),
};

const half = CREDENTIAL.length >> 1;

/** How a provider may show a credential. */
const CREDENTIALS: Record<string, string> = {
  whole: CREDENTIAL,
  'by its first 12 characters': CREDENTIAL.slice(0, 12),
  'by its last 10 characters': CREDENTIAL.slice(-10),
  'by its last 6 characters': CREDENTIAL.slice(-6),
  'by 7 characters of its middle': CREDENTIAL.slice(8, 15),
  'with a space in it': `${CREDENTIAL.slice(0, half)} ${CREDENTIAL.slice(half)}`,
  'with a dash in it': `${CREDENTIAL.slice(0, half)}-${CREDENTIAL.slice(half)}`,
  'with a line break in it': `${CREDENTIAL.slice(0, half)}\n${CREDENTIAL.slice(half)}`,
  'with spaces between its characters': CREDENTIAL.split('').join(' '),
  'with characters without width in it': CREDENTIAL.split('').join('\u200b'),
  'in upper case': CREDENTIAL.toUpperCase(),
  'its end in upper case': CREDENTIAL.slice(-8).toUpperCase(),
  'masked, with its last 6': `sk-****${CREDENTIAL.slice(-6)}`,
  'quoted in parts': `"${CREDENTIAL.slice(0, 8)}", "${CREDENTIAL.slice(8)}"`,
  'in a URL': `https://provider.example/v1?key=${CREDENTIAL}`,
  'in \\u': [...CREDENTIAL].map((one) => `\\u${hex(one.charCodeAt(0), 4)}`).join(''),
  'encoded for a URL': [...CREDENTIAL].map((one) => `%${hex(one.charCodeAt(0), 2)}`).join(''),
  'in base64': Buffer.from(CREDENTIAL).toString('base64'),
  'in JSON': JSON.stringify({ key: CREDENTIAL }),
};

type Place = (response: ServerResponse, error: object) => unknown;

const sse: Place = (response, ...messages: object[]) =>
  response.writeHead(200, { 'content-type': 'text/event-stream' }).end(chatWire(messages, ''));
const status =
  (code: number): Place =>
  (response, error) =>
    response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));

/** Where a provider's words are. */
const PLACES: Record<string, Place> = {
  'of a 400': status(400),
  'of a 422': status(422),
  'of a 500': status(500),
  'of an error event': (response, error) => sse(response, { error }),
  'of an error in mid-stream': (response, error) => {
    const content = { choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: null }] };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(chatWire([content, { error }], ''));
  },
};

const CELLS = Object.keys(PLACES).flatMap((place) => [
  ...Object.entries(PROMPTS).map(([form, text]) => ({ place, form, text, of: 'prompt' })),
  ...Object.entries(CREDENTIALS).map(([form, text]) => ({ place, form, text, of: 'credential' })),
]);

/** Long enough that no limit of a reason cuts what is echoed. */
const SENTENCE = 'Bad value at top_p:';

let provider: Listening;
let router: LocalRouter;
beforeAll(async () => {
  provider = await listen(
    createServer(async (request, response) => {
      const { model } = z.object({ model: z.string() }).parse(await json(request));
      const { place, text } = CELLS[Number(model)] ?? { place: '', text: '' };
      const error = { type: 'invalid_request_error', message: `${SENTENCE} ${text} is bad.` };
      PLACES[place]?.(response, error);
    }),
  );
  const catalog = CELLS.map((_, index) =>
    modelOn([targetAt(provider.url, { model: `${index}`, upstream: `${index}` })], {
      id: `cell/${index}`,
    }),
  );
  router = await startWatched({ catalog, secrets: { secret: CREDENTIAL } });
});
afterAll(async () => {
  await router.close();
  await provider.close();
});

/** What the caller, the key's holder and operators see of the call. */
const seen = async (index: number): Promise<string> => {
  const messages = [{ role: 'user', content: PROMPT }];
  const asked = await post(router, '/v1/chat/completions', {
    ...{ model: `cell/${index}`, stream: true, messages },
  });
  const id = asked.headers.get('x-request-id');
  const texts = [await asked.text()];
  for (const path of [`/v1/requests/${id}`, `/admin/requests/${id}`]) {
    const read = await fetch(`${router.baseUrl}${path}`, { headers: { 'x-api-key': router.key } });
    texts.push(await read.text());
  }
  return texts.join('\n');
};

const lettersOf = (text: string) =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');

/** Pieces of a text that are in another. */
const sharedPieces = (text: string, other: string, size: number): string[] =>
  Array.from({ length: Math.max(0, text.length - size + 1) }, (_, start) =>
    text.slice(start, start + size),
  ).filter((piece) => other.includes(piece));

describe.each(Object.keys(PLACES))('in the words %s', (where) => {
  const cells = CELLS.map((cell, index) => ({ ...cell, index })).filter(
    ({ place }) => place === where,
  );

  test.each(cells.filter(({ of }) => of === 'prompt'))(
    'the prompt $form is in no response and no record',
    async ({ index, text }) => {
      const shown = await seen(index);
      expect(shown).toContain('error');
      expect(WORDS.filter((word) => lettersOf(shown).includes(word.toLowerCase()))).toEqual([]);
      expect(sharedPieces(text, shown, 12)).toEqual([]);
    },
  );

  test.each(cells.filter(({ of }) => of === 'credential'))(
    'no 6 characters of the credential $form are in a response or a record',
    async ({ index, text }) => {
      const shown = await seen(index);
      expect(shown).toContain('error');
      expect(sharedPieces(CREDENTIAL, shown, 6)).toEqual([]);
      expect(sharedPieces(lettersOf(CREDENTIAL), lettersOf(shown), 6)).toEqual([]);
      if (text.length > 20) expect(sharedPieces(text, shown, 12)).toEqual([]);
    },
  );
});
