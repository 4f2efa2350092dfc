import { type ApiError, invalidRequest } from '../../support/errors.ts';
import type { Block, GenerationRequest } from '../generation.ts';

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

/** Names of blocks in error texts. */
const BLOCK_NAMES = {
  image: 'an image',
  document: 'a document',
  thinking: 'thinking',
  'tool-call': 'a tool call',
  'tool-result': 'a tool result',
} satisfies Record<Exclude<Block['type'], 'text' | 'native'>, string>;

const badHistory = (problem: string) =>
  invalidRequest(`messages: ${problem}`, { param: 'messages' });

/** Error for a conversation without content, or without any that the upstream can be sent. */
export const noContent = (): ApiError =>
  badHistory('at least one message with content is required.');

/**
 * Every vendor rejects a result without a call before it, or in its turn, and a call without a result; rejecting them
 * here costs the caller no unit.
 */
const assertCalls = ({ turns }: GenerationRequest) => {
  const calls = new Set<string>();
  const open = new Set<string>();
  for (const { blocks } of turns) {
    for (const block of blocks) {
      if (block.type !== 'tool-call') continue;
      calls.add(block.id);
      open.add(block.id);
    }
    for (const block of blocks) {
      if (block.type !== 'tool-result') continue;
      const { callId } = block;
      if (!calls.has(callId)) {
        throw badHistory(`the result for tool call '${callId}' has no such call before it.`);
      }
      open.delete(callId);
    }
  }
  for (const id of open) {
    throw badHistory(`the tool call '${id}' has no result after it.`);
  }
};

/** Every vendor accepts only text in a system prompt. */
const assertSystem = ({ turns }: GenerationRequest) => {
  for (const { role, blocks } of turns) {
    for (const { type } of role === 'system' ? blocks : []) {
      if (type === 'text' || type === 'native') continue;
      throw badHistory(`a system message holds text, not ${BLOCK_NAMES[type]}.`);
    }
  }
};

/** Checks what a schema cannot: that the parts of a request fit together. @throws ApiError 400 */
export const assertConsistent = (request: GenerationRequest): void => {
  assertTools(request);
  assertSystem(request);
  assertCalls(request);
};
