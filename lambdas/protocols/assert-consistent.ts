import { invalidRequest } from '../support/errors.ts';
import type { Block, GenerationRequest, Turn } from './generation.ts';
import { callIdsIn } from './tool-ids.ts';

const namesOf = ({ tools = [] }: GenerationRequest): string[] =>
  tools.flatMap((tool) =>
    'foreign' in tool
      ? typeof tool.value.name === 'string'
        ? [tool.value.name]
        : []
      : [tool.name],
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

/** Blocks as a caller would call them. */
const WORDS = {
  image: 'an image',
  document: 'a document',
  thinking: 'thinking',
  'tool-call': 'a tool call',
  'tool-result': 'a tool result',
} satisfies Record<Exclude<Block['type'], 'text' | 'foreign'>, string>;

const badHistory = (message: string) => invalidRequest(message, { param: 'messages' });

/** Both vendors refuse a result without its call; saying so here costs the caller nothing. */
const assertResults = ({ turns }: GenerationRequest) => {
  const called = new Set<string>();
  for (const turn of turns) {
    for (const id of callIdsIn(turn)) called.add(id);
    const orphan = resultsIn(turn).find((id) => !called.has(id));
    if (orphan !== undefined) {
      throw badHistory(
        `messages: the result for tool call '${orphan}' has no such call before it.`,
      );
    }
  }
};

/** Both vendors refuse a call that the conversation passes over. */
const assertAnswered = ({ turns }: GenerationRequest) => {
  const answered = new Set<string>();
  for (const turn of turns.toReversed()) {
    for (const id of resultsIn(turn)) answered.add(id);
    const open = callIdsIn(turn).find((id) => !answered.has(id));
    if (open !== undefined) {
      throw badHistory(`messages: the tool call '${open}' has no result after it.`);
    }
  }
};

/** Both vendors take nothing but text there. */
const assertSystem = ({ turns }: GenerationRequest) => {
  const blocks = turns.flatMap((turn) => (turn.role === 'system' ? turn.blocks : []));
  const other = blocks.find((block) => block.type !== 'text' && block.type !== 'foreign');
  if (other) throw badHistory(`messages: a system message holds text, not ${WORDS[other.type]}.`);
};

/** Checks what a schema cannot: that the parts of a request fit together. @throws ApiError 400 */
export const assertConsistent = (request: GenerationRequest): void => {
  assertTools(request);
  assertSystem(request);
  assertResults(request);
  assertAnswered(request);
};
