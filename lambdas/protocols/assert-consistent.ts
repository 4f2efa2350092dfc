import { type ApiError, invalidRequest } from '../support/errors.ts';
import type { Block, GenerationRequest, Turn } from './generation.ts';
import { callIdsIn } from './tool-ids.ts';

const namesOf = ({ tools = [] }: GenerationRequest): string[] =>
  tools.flatMap((tool) =>
    'native' in tool ? (typeof tool.value.name === 'string' ? [tool.value.name] : []) : [tool.name],
  );

const assertTools = (request: GenerationRequest) => {
  const names = namesOf(request);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) {
    throw invalidRequest(`tools: the name '${twice}' is used twice.`, { param: 'tools' });
  }
  const { toolChoice, tools = [] } = request;
  if (toolChoice?.type === 'tool' && !names.includes(toolChoice.name)) {
    const message = `tool_choice: there is no tool '${toolChoice.name}' in tools.`;
    throw invalidRequest(message, { param: 'tool_choice' });
  }
  if (toolChoice?.type === 'required' && tools.length === 0) {
    throw invalidRequest('tool_choice: a tool is required but tools is empty.', {
      param: 'tool_choice',
    });
  }
};

const resultsIn = ({ blocks }: Turn): string[] =>
  blocks.flatMap((block) => (block.type === 'tool-result' ? [block.callId] : []));

/** Names of blocks in error texts. */
const BLOCK_NAMES = {
  image: 'an image',
  document: 'a document',
  thinking: 'thinking',
  'tool-call': 'a tool call',
  'tool-result': 'a tool result',
} satisfies Record<Exclude<Block['type'], 'text' | 'native'>, string>;

const badHistory = (message: string) => invalidRequest(message, { param: 'messages' });

/** Error for a conversation without content, or without any that the upstream can be sent. */
export const noContent = (): ApiError =>
  badHistory('messages: at least one message with content is required.');

/** Every vendor rejects a result without its call; rejecting it here costs the caller no unit. */
const assertResults = ({ turns }: GenerationRequest) => {
  const callIds = new Set<string>();
  for (const turn of turns) {
    for (const id of callIdsIn(turn)) callIds.add(id);
    const orphan = resultsIn(turn).find((id) => !callIds.has(id));
    if (orphan !== undefined) {
      throw badHistory(
        `messages: the result for tool call '${orphan}' has no such call before it.`,
      );
    }
  }
};

/** Every vendor rejects a call that has no result. */
const assertAnswered = ({ turns }: GenerationRequest) => {
  const resultIds = new Set<string>();
  for (const turn of turns.toReversed()) {
    for (const id of resultsIn(turn)) resultIds.add(id);
    const open = callIdsIn(turn).find((id) => !resultIds.has(id));
    if (open !== undefined) {
      throw badHistory(`messages: the tool call '${open}' has no result after it.`);
    }
  }
};

/** Every vendor accepts only text in a system prompt. */
const assertSystem = ({ turns }: GenerationRequest) => {
  const blocks = turns.flatMap((turn) => (turn.role === 'system' ? turn.blocks : []));
  const other = blocks.find((block) => block.type !== 'text' && block.type !== 'native');
  if (other) {
    throw badHistory(`messages: a system message holds text, not ${BLOCK_NAMES[other.type]}.`);
  }
};

/** Checks what a schema cannot: that the parts of a request fit together. @throws ApiError 400 */
export const assertConsistent = (request: GenerationRequest): void => {
  assertTools(request);
  assertSystem(request);
  assertResults(request);
  assertAnswered(request);
};
