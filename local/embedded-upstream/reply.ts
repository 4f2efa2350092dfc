import type { GenerationRequest, ToolResultBlock } from '../../lambdas/protocols/generation.ts';
import type { Directives } from './directives.ts';
import { type Prompt, textOf } from './prompt.ts';
import { sampleOf } from './schema-sample.ts';

/** Agents send pages of context; an answer that repeats them all would drown the terminal. */
const QUOTE_LIMIT = 200;

const quote = (text: string): string =>
  `"${text.length > QUOTE_LIMIT ? `${text.slice(0, QUOTE_LIMIT)}…` : text}"`;

const ofResult = ({ content, isError }: ToolResultBlock): string =>
  `The tool ${isError ? 'failed with' : 'said'} ${quote(textOf(content))}.`;

const attachments = ({ images, documents }: Prompt): string[] => [
  ...(images.length > 0 ? [`I see ${images.length} image(s): ${images.join(', ')}.`] : []),
  ...(documents > 0 ? [`I see ${documents} document(s).`] : []),
];

const chatter = (request: GenerationRequest, prompt: Prompt): string => {
  const results = prompt.results.map(ofResult);
  const greeting = [`Hello from ${request.model}! You said ${quote(prompt.text)}.`];
  return [...(results.length > 0 ? results : greeting), ...attachments(prompt)].join(' ');
};

/** The text of an answer that calls no tool. `say` wins over everything, a JSON format over prose. */
export const replyText = (
  request: GenerationRequest,
  prompt: Prompt,
  { say }: Directives,
): string => {
  if (say !== undefined) return say;
  switch (request.responseFormat?.type) {
    case 'json':
      return JSON.stringify({ answer: chatter(request, prompt) });
    case 'json-schema':
      return JSON.stringify(sampleOf(request.responseFormat.schema));
    default:
      return chatter(request, prompt);
  }
};
