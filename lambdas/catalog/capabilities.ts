import type { Block, GenerationRequest, Turn } from '../protocols/generation.ts';
import type { UpstreamProtocol } from '../protocols/protocol.ts';
import { upstreamProtocols } from '../protocols/protocols.ts';
import { contextOverflow, invalidRequest } from '../support/errors.ts';
import { mapOnce } from '../support/memo.ts';
import { omitUndefined } from '../support/objects.ts';
import type { Model, Target } from './catalog.ts';
import { bytesOf, type RequestParts, TOKENS_PER_MEDIUM } from './request-parts.ts';

const holdsImage = (block: Block): boolean => {
  switch (block.type) {
    case 'image':
      return true;
    case 'tool-result':
      return block.content.some(holdsImage);
    case 'native':
      // Its source is valid at one vendor only, e.g. a stored file.
      return block.value.type === 'image';
    default:
      return false;
  }
};

const holdImages = mapOnce(({ blocks }: Turn) => blocks.some(holdsImage));

/** Rejects a request that the model cannot serve, before a unit is reserved. @throws ApiError 400 */
export const assertCapable = (model: Model, request: GenerationRequest) => {
  const { id } = model;
  const { turns, tools = [], stream } = request;
  const reject = (message: string, param: string) => {
    throw invalidRequest(message, { param });
  };
  if (stream && !model.streaming) reject(`The model '${id}' does not stream.`, 'stream');
  if (tools.length > 0 && !model.tools) reject(`The model '${id}' does not call tools.`, 'tools');
  if (!model.vision && holdImages(turns).includes(true)) {
    reject(`The model '${id}' does not accept images.`, 'messages');
  }
};

/** Images and documents, also in results. */
const countMedia = (blocks: Block[]): number => {
  let count = 0;
  for (const block of blocks) {
    if (block.type === 'image' || block.type === 'document') count += 1;
    else if (block.type === 'tool-result') count += countMedia(block.content);
  }
  return count;
};

/**
 * Rejects a prompt that certainly exceeds the model's context, before any spend. A doubtful one goes to the
 * provider, whose refusal becomes the same 400 and costs no unit: a wrong 400 here would lose a valid request.
 * The cheap bound comes first, so that most requests are not read for it.
 * @throws ApiError 400
 */
export const assertFits = (
  { context_length }: Pick<Model, 'context_length'>,
  request: GenerationRequest,
  count: {
    bodyBytes: number;
    parts: () => RequestParts;
    /** Tokens that the prompt has at least, at the target that counts least. */
    least: () => number;
    estimate: () => number;
  },
): void => {
  const media = request.turns.reduce((sum, { blocks }) => sum + countMedia(blocks), 0);
  if (count.bodyBytes + TOKENS_PER_MEDIUM * media <= context_length) return;
  const least = count.least();
  if (least <= context_length) return;
  // No vendor's tokenizer makes more than a token of a byte.
  const parts = count.parts();
  const { images, mediaTokens } = parts;
  if (bytesOf(parts) + TOKENS_PER_MEDIUM * images.length + mediaTokens <= context_length) return;
  throw contextOverflow({
    tokens: Math.ceil(Math.max(least, count.estimate())),
    most: context_length,
  });
};

/**
 * Keeps the model's targets whose protocol can carry every part of the request.
 * @throws ApiError 400 when there is none; it names the parts that no target can carry, or, if each
 * part has a target but not the same one, all of them.
 */
export const targetsFor = (
  { id, targets }: Pick<Model, 'id' | 'targets'>,
  request: GenerationRequest,
  protocols: Record<string, Pick<UpstreamProtocol, 'cannotSay'>> = upstreamProtocols,
): Target[] => {
  const candidates = targets.map((target) => ({
    target,
    missing: new Set(protocols[target.protocol]?.cannotSay(request, target.profile)),
  }));
  const able = candidates.filter(({ missing }) => missing.size === 0);
  if (able.length > 0) return able.map(({ target }) => target);
  const all = [...new Set(candidates.flatMap(({ missing }) => [...missing]))];
  const common = all.filter((name) => candidates.every(({ missing }) => missing.has(name)));
  const named = common.length > 0 ? common : all;
  const names = named.map((name) => `'${name}'`).join(', ');
  const [first] = named;
  const fields = ['n', ...Object.keys(request.extras.fields)];
  const param = fields.find((field) => field === first?.replace(' above 1', ''));
  throw invalidRequest(`The model '${id}' does not support ${names}.`, omitUndefined({ param }));
};
