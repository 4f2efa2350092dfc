import { type ApiError, invalidRequest } from '../../support/errors.ts';
import { mapOnce } from '../../support/memo.ts';
import type { Block, GenerationRequest, Turn } from '../generation.ts';

const assertTools = ({ toolChoice, tools = [] }: GenerationRequest) => {
  const names = new Set<unknown>();
  for (const tool of tools) {
    const name = 'native' in tool ? tool.value.name : tool.name;
    if (typeof name === 'string' && names.has(name)) {
      throw invalidRequest(`tools: the name '${name}' is used twice.`, { param: 'tools' });
    }
    names.add(name);
  }
  if (toolChoice?.type === 'tool' && !names.has(toolChoice.name)) {
    const message = `tool_choice: there is no tool '${toolChoice.name}' in tools.`;
    throw invalidRequest(message, { param: 'tool_choice' });
  }
  if (toolChoice?.type === 'required' && tools.length === 0) {
    throw invalidRequest('tool_choice: a tool is required but tools is empty.', {
      param: 'tool_choice',
    });
  }
};

type Named = Exclude<Block, { type: 'text' | 'native' }>;

/** Names of blocks in error texts. */
const BLOCK_NAMES = {
  image: 'an image',
  document: 'a document',
  thinking: 'thinking',
  'tool-call': 'a tool call',
  'tool-result': 'a tool result',
} satisfies Record<Named['type'], string>;

const badHistory = (problem: string) =>
  invalidRequest(`messages: ${problem}`, { param: 'messages' });

/** Error for a conversation without content, or without any that the upstream can be sent. */
export const noContent = (): ApiError =>
  badHistory('at least one message with content is required.');

const isNamed = (block: Block): block is Named => block.type !== 'text' && block.type !== 'native';

/** The ids of the calls and of the results in each turn, and what a system turn has that is not text. */
const partsOf = mapOnce(({ role, blocks }: Turn) => ({
  called: blocks.flatMap((block) => (block.type === 'tool-call' ? [block.id] : [])),
  returned: blocks.flatMap((block) => (block.type === 'tool-result' ? [block.callId] : [])),
  other: role === 'system' ? blocks.find(isNamed)?.type : undefined,
}));

/**
 * Every vendor accepts only text in a system prompt, and rejects a result without a call before it, or in its turn, and a call
 * without a result; rejecting them here costs the caller no unit.
 */
const assertTurns = ({ turns }: GenerationRequest) => {
  const calls = new Set<string>();
  const open = new Set<string>();
  const parts = partsOf(turns);
  const other = parts.find((part) => part.other)?.other;
  if (other) throw badHistory(`a system message holds text, not ${BLOCK_NAMES[other]}.`);
  for (const { called, returned } of parts) {
    for (const id of called) {
      calls.add(id);
      open.add(id);
    }
    for (const id of returned) {
      if (!calls.has(id)) {
        throw badHistory(`the result for tool call '${id}' has no such call before it.`);
      }
      open.delete(id);
    }
  }
  for (const id of open) {
    throw badHistory(`the tool call '${id}' has no result after it.`);
  }
};

/** Checks what a schema cannot: that the parts of a request fit together. @throws ApiError 400 */
export const assertConsistent = (request: GenerationRequest): void => {
  assertTools(request);
  assertTurns(request);
};
