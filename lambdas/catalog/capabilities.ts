import type { Block, GenerationRequest } from '../protocols/generation.ts';
import { nativeParts } from '../protocols/native-parts.ts';
import { contextOverflow, invalidRequest } from '../support/errors.ts';
import type { Model, Target } from './catalog.ts';

const holdsImage = (block: Block): boolean => {
  switch (block.type) {
    case 'image':
      return true;
    case 'tool-result':
      return block.content.some(holdsImage);
    case 'foreign':
      // With a source that only one vendor knows, such as a file it keeps.
      return block.value.type === 'image';
    default:
      return false;
  }
};

/**
 * Refuses what the model cannot do, before anything is spent on it.
 * @param inputTokens the request's estimated size
 * @throws ApiError 400
 */
export const assertWithin = (model: Model, request: GenerationRequest, inputTokens: number) => {
  const { id } = model;
  const { turns, tools = [], stream } = request;
  const refuse = (message: string, param: string) => {
    throw invalidRequest(message, { param });
  };
  if (stream && !model.streaming) refuse(`The model '${id}' does not stream.`, 'stream');
  if (tools.length > 0 && !model.tools) refuse(`The model '${id}' does not call tools.`, 'tools');
  if (!model.vision && turns.some(({ blocks }) => blocks.some(holdsImage))) {
    refuse(`The model '${id}' does not accept images.`, 'messages');
  }
  if (inputTokens > model.context_length) {
    throw contextOverflow({ tokens: inputTokens, most: model.context_length });
  }
};

/**
 * The model's targets that can be told everything the caller said: a part or tool that only one protocol
 * knows needs an upstream of that protocol.
 * @throws ApiError 400 naming the part when no target can.
 */
export const targetsFor = (model: Model, request: GenerationRequest): Target[] => {
  const parts = nativeParts(request);
  const able = model.targets.filter((target) =>
    parts.every(({ protocol }) => protocol === target.protocol),
  );
  if (able.length > 0) return able;
  const names = [...new Set(parts.map(({ name }) => `'${name}'`))].join(', ');
  throw invalidRequest(`The model '${model.id}' does not support ${names}.`);
};
