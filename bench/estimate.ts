/**
 * The estimate of input tokens: its errors by family of tokenizers on the checking set (decision 5), and its time
 * against `JSON.parse` of the same body. Both are measured by turns, in batches, and the ratio is the median of those
 * of the batches: it holds on any machine and a busy one, microseconds do not. Run it with `npm run bench:estimate`.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { countingOf, estimateInputTokens } from '../lambdas/catalog/estimate-tokens.ts';
import { partsOf } from '../lambdas/catalog/request-parts.ts';
import type { CallerProtocol } from '../lambdas/protocols/protocol.ts';
import { callerProtocols } from '../lambdas/protocols/protocols.ts';
import { readDocuments } from '../test/lambdas/catalog/counting/checking-texts.ts';
import { CHECKED, createScore, shareWithin } from '../test/lambdas/catalog/counting/score.ts';
import { AGENT } from './gateway/cases.ts';
import { median } from './median.ts';

const SIZES = [600, 1_000, 3_000, 10_000, 30_000, 300_000, 2_000_000];
const AGENT_SIZES = [30_000, 300_000, 2_000_000];
const LANGUAGES = { French: 'fr', Russian: 'ru', Chinese: 'zh-cn', Japanese: 'ja', Korean: 'ko' };
const LANGUAGE_SIZES = [1_000, 3_000, 30_000];
/** Characters that a batch parses. */
const BATCH = 100_000;
const BATCHES = 300;

const percent = (share: number): string => `${Math.round(100 * share)} %`;
const size = (errors: number[]): string => `${(100 * median(errors.map(Math.abs))).toFixed(1)} %`;

const score = createScore();
console.table(
  Object.fromEntries(
    Object.keys(CHECKED).map((family) => {
      const { requests, documents } = score(family);
      return [
        family,
        {
          requests: requests.length,
          'within 5 %': percent(shareWithin(requests, 0.05)),
          'median error': size(requests),
          documents: documents.length,
          'within 10 %': percent(shareWithin(documents, 0.1)),
          'median error ': size(documents),
        },
      ];
    }),
  ),
);

const folder = new URL('../lambdas/', import.meta.url);
const code = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => readFileSync(new URL(name, folder), 'utf8'))
  .join('\n');

const documents = new Map(readDocuments());
const textsByLanguage = Object.fromEntries(
  Object.entries(LANGUAGES).map(([language, locale]) => [
    language,
    documents.get(`typescript ${locale} 0`),
  ]),
);
const EMOJI = '😀😃👍🏽 ';

/** A conversation of messages of 700 characters: parsing it is as fast as parsing gets. */
const messagesOf = (characters: number, text = code) => {
  const long = text.repeat(Math.ceil(characters / text.length)).slice(0, characters);
  return (long.match(/.{1,700}/gs) ?? []).map((content) => ({ role: 'user', content }));
};

const CALL = {
  id: 'call_a',
  type: 'function',
  function: { name: 'read_file', arguments: '{"path":"src/part.ts","limit":20}' },
};
const round = [
  { role: 'assistant', content: null, tool_calls: [CALL] },
  { role: 'tool', tool_call_id: 'call_a', content: 'export const add = (left, right) => left;' },
];
const HUNDRED_CALLS = [...messagesOf(100), ...Array(100).fill(round).flat()];

/** The calls and results of an agent with 20 tools, repeated. */
const agentOf = (characters: number) => {
  const rounds = AGENT.messages.slice(1);
  const times = Math.max(1, Math.round(characters / JSON.stringify(rounds).length));
  return {
    ...AGENT,
    messages: [
      ...AGENT.messages,
      ...Array(times - 1)
        .fill(rounds)
        .flat(),
    ],
  };
};

const microsecondsOf = (run: () => unknown, times: number): number => {
  const from = performance.now();
  for (let index = 0; index < times; index += 1) run();
  return (1_000 * (performance.now() - from)) / times;
};

const rowOf = (kind: string, { decodeRequest }: CallerProtocol, fields: object) => {
  const body = JSON.stringify({ model: 'vendor/model', max_tokens: 1, ...fields });
  const request = decodeRequest(JSON.parse(body));
  const times = Math.ceil(BATCH / body.length);
  const counting = countingOf({ model: 'gpt-6' });
  const batches = Array.from({ length: BATCHES }, () => ({
    parse: microsecondsOf(() => JSON.parse(body), times),
    estimate: microsecondsOf(() => estimateInputTokens(partsOf(request), counting), times),
  }));
  return {
    body: kind,
    bytes: Buffer.byteLength(body),
    'JSON.parse, µs': median(batches.map(({ parse }) => parse)).toFixed(1),
    'estimate, µs': median(batches.map(({ estimate }) => estimate)).toFixed(1),
    ratio: median(batches.map(({ parse, estimate }) => estimate / parse)).toFixed(2),
  };
};

const { chat, messages } = callerProtocols;
console.table([
  ...SIZES.map((size) => rowOf('messages', chat, { messages: messagesOf(size) })),
  rowOf('one message', chat, { messages: [{ role: 'user', content: code.slice(0, 3_000) }] }),
  rowOf('100 short calls', chat, { messages: HUNDRED_CALLS }),
  ...AGENT_SIZES.map((size) => rowOf('agent with 20 tools', messages, agentOf(size))),
  ...LANGUAGE_SIZES.flatMap((size) =>
    Object.entries({ ...textsByLanguage, emoji: EMOJI }).map(([language, text]) =>
      rowOf(language, chat, { messages: messagesOf(size, text) }),
    ),
  ),
]);
