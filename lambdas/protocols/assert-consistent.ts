import { invalidRequest } from '../support/errors.ts';
import type { GenerationRequest } from './generation.ts';

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

/** Every upstream refuses a result without its call; saying so here costs the caller nothing. */
const assertResults = ({ turns }: GenerationRequest) => {
  const called = new Set<string>();
  for (const { blocks } of turns) {
    for (const block of blocks) {
      if (block.type === 'tool-call') called.add(block.id);
      if (block.type === 'tool-result' && !called.has(block.callId)) {
        const message = `messages: the result for tool call '${block.callId}' has no such call before it.`;
        throw invalidRequest(message, { param: 'messages' });
      }
    }
  }
};

/** Checks what a schema cannot: that the parts of a request fit together. @throws ApiError 400 */
export const assertConsistent = (request: GenerationRequest): void => {
  assertTools(request);
  assertResults(request);
};
