import type {
  AnswerBlock,
  Block,
  Generation,
  GenerationRequest,
  Tool,
  ToolResultBlock,
  Usage,
} from '../../lambdas/protocols/generation.ts';
import { bound, countTokens, outputTokens } from './bounds.ts';
import { type Directives, readDirectives } from './directives.ts';
import { sampleOf } from './schema-sample.ts';

/** User content after the last assistant turn, the only input of the embedded model. */
type Prompt = {
  text: string;
  results: ToolResultBlock[];
  /** Media types of the attached images, or `url`. */
  images: string[];
  documents: number;
};

const textOf = (blocks: Block[]): string =>
  blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');

const imagesIn = (blocks: Block[]): string[] =>
  blocks.flatMap((block) => {
    if (block.type === 'tool-result') return imagesIn(block.content);
    if (block.type !== 'image') return [];
    return [block.source.kind === 'url' ? 'url' : block.source.mediaType];
  });

export const readPrompt = ({ turns }: GenerationRequest): Prompt => {
  const lastAnswer = turns.findLastIndex(({ role }) => role === 'assistant');
  const blocks = turns
    .slice(lastAnswer + 1)
    .filter(({ role }) => role === 'user')
    .flatMap((turn) => turn.blocks);
  return {
    text: textOf(blocks),
    results: blocks.filter((block) => block.type === 'tool-result'),
    images: imagesIn(blocks),
    documents: blocks.filter(({ type }) => type === 'document').length,
  };
};

/** Provider-specific parts of a response. */
export type ModelStyle = {
  newCallId(): string;
  /** Signature of a thinking block; undefined where the provider does not sign them. */
  sign(thinking: string): string | undefined;
};

type PlannedCall = Directives['calls'][number];

/** The tools that the request lets the model call: none, one, some or all of those it offers. */
const callable = ({ tools = [], toolChoice }: GenerationRequest): Tool[] => {
  const offered = tools.filter((tool): tool is Tool => !('native' in tool));
  switch (toolChoice?.type) {
    case 'none':
      return [];
    case 'tool':
      return offered.filter(({ name }) => name === toolChoice.name);
    case 'auto':
    case 'required':
      return offered.filter(({ name }) => toolChoice.only?.includes(name) ?? true);
    default:
      return offered;
  }
};

const isForced = ({ toolChoice }: GenerationRequest): boolean =>
  toolChoice?.type === 'required' || toolChoice?.type === 'tool';

/** The calls that the prompt requests, or the one that the tool choice requires; often none. */
const planCalls = (request: GenerationRequest, directives: Directives): PlannedCall[] => {
  const tools = callable(request);
  const requested = directives.calls.filter(({ name }) => tools.some((tool) => tool.name === name));
  const forced = isForced(request) ? tools.slice(0, 1) : [];
  const calls =
    requested.length > 0
      ? requested
      : forced.map(({ name, parameters }) => ({
          name,
          arguments: JSON.stringify(sampleOf(parameters)),
        }));
  return request.parallelToolCalls === false ? calls.slice(0, 1) : calls;
};

/** Coding agents send pages of context; quoting all of it would flood the terminal. */
const QUOTE_LIMIT = 200;

const quote = (text: string): string =>
  `"${text.length > QUOTE_LIMIT ? `${text.slice(0, QUOTE_LIMIT)}…` : text}"`;

const resultText = ({ content, isError }: ToolResultBlock): string =>
  `The tool ${isError ? 'failed with' : 'said'} ${quote(textOf(content))}.`;

const attachmentTexts = ({ images, documents }: Prompt): string[] => [
  ...(images.length > 0 ? [`I see ${images.length} image(s): ${images.join(', ')}.`] : []),
  ...(documents > 0 ? [`I see ${documents} document(s).`] : []),
];

const prose = (request: GenerationRequest, prompt: Prompt): string => {
  const results = prompt.results.map(resultText);
  const greeting = [`Hello from ${request.model}! You said ${quote(prompt.text)}.`];
  return [...(results.length > 0 ? results : greeting), ...attachmentTexts(prompt)].join(' ');
};

/** Text of a response without tool calls. `say` overrides everything, a JSON format overrides prose. */
const replyText = (request: GenerationRequest, prompt: Prompt, { say }: Directives): string => {
  if (say !== undefined) return say;
  switch (request.responseFormat?.type) {
    case 'json':
      return JSON.stringify({ answer: prose(request, prompt) });
    case 'json-schema':
      return JSON.stringify(sampleOf(request.responseFormat.schema));
    default:
      return prose(request, prompt);
  }
};

/** Tokens of an image or document: what a vendor charges for a small image. */
const IMAGE_TOKENS = 85;

const tokensOf = (block: Block): number => {
  switch (block.type) {
    case 'text':
    case 'thinking':
      return countTokens(block.text);
    case 'tool-call':
      return countTokens(block.arguments);
    case 'tool-result':
      return block.content.reduce((sum, part) => sum + tokensOf(part), 0);
    default:
      return IMAGE_TOKENS;
  }
};

const usageOf = (request: GenerationRequest, blocks: AnswerBlock[], cached: number): Usage => {
  const input = request.turns.flatMap((turn) => turn.blocks);
  const tools = countTokens(JSON.stringify(request.tools ?? [], undefined, 1)) - 1;
  const reasoningTokens = outputTokens(blocks.filter(({ type }) => type === 'thinking'));
  const inputTokens = input.reduce((sum, block) => sum + tokensOf(block), tools);
  return {
    inputTokens,
    outputTokens: outputTokens(blocks),
    // Claude states these with every answer.
    ...{
      cacheReadTokens: Math.min(cached, inputTokens),
      cacheWriteTokens: 0,
      cacheWriteLongTokens: 0,
    },
    ...(reasoningTokens > 0 ? { reasoningTokens } : {}),
  };
};

const think = (text: string | undefined, style: ModelStyle): AnswerBlock[] => {
  if (text === undefined) return [];
  const signature = style.sign(text);
  return [{ type: 'thinking', text, ...(signature === undefined ? {} : { signature }) }];
};

/** The embedded model: a pure function of the request, except for ids. Its tokens are words. */
export const generate = (request: GenerationRequest, style: ModelStyle): Generation => {
  const prompt = readPrompt(request);
  const directives = readDirectives(prompt.text);
  const calls = planCalls(request, directives);
  const content: AnswerBlock[] =
    calls.length > 0
      ? calls.map((call) => ({ type: 'tool-call', id: style.newCallId(), ...call }))
      : [{ type: 'text', text: replyText(request, prompt, directives) }];
  const { blocks, reason } = bound(
    {
      blocks: [...think(directives.think, style), ...content],
      reason: { unified: calls.length > 0 ? 'tool-calls' : 'stop' },
    },
    request,
  );
  return { blocks, reason, usage: usageOf(request, blocks, directives.cached) };
};
