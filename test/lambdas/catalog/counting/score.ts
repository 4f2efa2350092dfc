import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  type Counting,
  countingOf,
  estimateInputTokens,
} from '../../../../lambdas/catalog/estimate-tokens.ts';
import { framingOf, numbersOf } from '../../../../lambdas/catalog/families.ts';
import { partsOf } from '../../../../lambdas/catalog/request-parts.ts';
import { callerProtocols } from '../../../../lambdas/protocols/protocols.ts';
import { readDocuments, readRequests } from './checking-texts.ts';

/** What the vendors' tokenizers count, by test/lambdas/catalog/counting/true_counts.py. */
type TrueCount = { digest: string; counts: Record<string, number> };
type TrueCounts = {
  requests: TrueCount[];
  documents: TrueCount[];
  tokenizers: string[];
  /** By the digest of a text (kinds.ts), in the order of the tokenizers. */
  kinds: Record<string, number[]>;
};

/** The families by a model of each; Claude's true counts are derived, see decision 5. */
export const CHECKED: Record<string, string> = {
  o200k: 'gpt-6',
  glm: 'glm-5.2',
  minimax: 'MiniMax-M3',
  qwen: 'qwen3.5-plus',
  deepseek: 'deepseek-v4-pro',
  claude: 'claude-sonnet-4-5',
  'claude-4.7': 'claude-opus-4-8',
  cl100k: 'gpt-4-turbo',
  llama: 'llama-3.3-70b-instruct',
  kimi: 'kimi-k2.5',
};

export const digestOf = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, 12);

type Body = ReturnType<typeof readRequests>[number];
type Message = Body['messages'][number];

/** The body as a client sends it: arguments of calls are JSON text. */
export const bodyOf = ({ messages, tools }: Body) => ({
  model: 'vendor/model',
  tools,
  messages: messages.map((message: Message) =>
    'tool_calls' in message
      ? {
          ...message,
          tool_calls: message.tool_calls.map((call) => ({
            ...call,
            function: { ...call.function, arguments: JSON.stringify(call.function.arguments) },
          })),
        }
      : message,
  ),
});

export const readTrueCounts = (): TrueCounts =>
  JSON.parse(readFileSync(new URL('true-counts.json', import.meta.url), 'utf8'));

/** A vendor's counts of a request by family; undefined if the packages have other texts now. */
export const trueCountsOf = (body: Body): Record<string, number> | undefined =>
  readTrueCounts().requests.find(({ digest }) => digest === digestOf(JSON.stringify(body)))?.counts;

/** Of the text alone, as the file of a prompt. */
const wordsOnly = ({ framing, ...counting }: Counting): Counting => ({
  ...counting,
  framing: numbersOf({ ...framingOf(framing), prompt: 0, message: 0 }),
});

/** The signed errors of the estimate for one family or model, of those texts that the installed packages still have. */
export const createScore = () => {
  const truth = readTrueCounts();
  const known = (counts: TrueCount[], text: string) =>
    counts.find(({ digest }) => digest === digestOf(text))?.counts;
  const requests = readRequests().map((body) => ({
    parts: partsOf(callerProtocols.chat.decodeRequest(bodyOf(body))),
    counts: known(truth.requests, JSON.stringify(body)),
  }));
  const documents = readDocuments().map(([, content]) => ({
    parts: partsOf(
      callerProtocols.chat.decodeRequest({
        model: 'vendor/model',
        messages: [{ role: 'user', content }],
      }),
    ),
    counts: known(truth.documents, content),
  }));
  const errorsOf = (items: typeof requests, family: string, counting: Counting): number[] =>
    items.flatMap(({ parts, counts }) => {
      const tokens = counts?.[family];
      return tokens ? [estimateInputTokens(parts, counting) / tokens - 1] : [];
    });
  return (family: string) => {
    const counting = countingOf({ model: CHECKED[family] ?? family });
    return {
      requests: errorsOf(requests, family, counting),
      documents: errorsOf(documents, family, wordsOnly(counting)),
    };
  };
};

export const shareWithin = (errors: number[], limit: number): number =>
  errors.filter((error) => Math.abs(error) <= limit).length / errors.length;
