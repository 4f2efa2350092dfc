import { hash } from 'node:crypto';
import { mapOnce, oncePer } from '../../support/memo.ts';
import { asRecord, asString } from '../bytes/json.ts';
import type {
  Block,
  Extras,
  FinishReason,
  GenerationEvent,
  GenerationRequest,
  ThinkingBlock,
  Turn,
} from '../generation.ts';

/**
 * Thinking is sent back in the next request and is valid only at the upstream that wrote it: another
 * one rejects the whole request over an unknown signature. So every signature in a response is tagged
 * with its origin, and thinking is sent back only to that origin. No state is stored.
 */
const TAG = /^mrs1\.([0-9a-f]{12})\.(.*)$/s;

/** Whether a tagged signature proves thinking: that of an upstream that does not sign is empty. */
export const isSigned = (signature: string | undefined): boolean =>
  Boolean(TAG.exec(signature ?? '')?.[2]);

type Target = { upstream: string; model: string };

/** Identifies a target's upstream and model without naming them. */
export const originOf = oncePer(new WeakMap<Target, string>(), ({ upstream, model }) =>
  hash('sha256', `${upstream}\n${model}`).slice(0, 12),
);

/** The id of a container belongs to the operator's account at one upstream, as a signature does. */
const tagContainer = (reason: FinishReason, origin: string): FinishReason => {
  const id = asString(reason.container?.id);
  return id === undefined
    ? reason
    : { ...reason, container: { ...reason.container, id: `mrs1.${origin}.${id}` } };
};

/** The request's container with its original id; without the id for an upstream that did not issue it. */
const untagContainer = (container: unknown, origin: string): unknown => {
  const record = asRecord(container);
  const [, issuer, id] = TAG.exec(asString(record ? record.id : container) ?? '') ?? [];
  if (issuer === undefined) return container;
  const known = issuer === origin ? id : undefined;
  if (!record) return known;
  const { id: _, ...rest } = record;
  return known === undefined ? rest : { ...rest, id: known };
};

const withOwnContainer = <Of extends Extras>(extras: Of, origin: string): Of => {
  if (extras.fields.container === undefined) return extras;
  const container = untagContainer(extras.fields.container, origin);
  if (container !== undefined) return { ...extras, fields: { ...extras.fields, container } };
  const { container: _, ...fields } = extras.fields;
  return { ...extras, fields };
};

/** Tags the thinking of a response. Unsigned thinking is tagged too, so its upstream gets it back. */
export const createOriginTagger = (
  origin: string,
): ((event: GenerationEvent) => GenerationEvent) => {
  const thinking = new Set<number>();
  return (event) => {
    if (event.type === 'finish') return { ...event, reason: tagContainer(event.reason, origin) };
    if (event.type === 'block-start' && event.block.type === 'thinking') thinking.add(event.index);
    if (event.type !== 'block-end' || !thinking.has(event.index)) return event;
    return { ...event, signature: `mrs1.${origin}.${event.signature ?? ''}` };
  };
};

/** No origin: a history is sent without any thinking. */
export const NO_ORIGIN = '';

/** Not by a pattern, which copies: a history has hundreds of signatures. */
const untagged = (signature: string | undefined, origin: string): string | undefined => {
  const tag = `mrs1.${origin}.`;
  return origin !== NO_ORIGIN && signature?.startsWith(tag)
    ? signature.slice(tag.length)
    : undefined;
};

/** The signature that `origin` issued, without its tag; undefined if it did not, or does not sign. Of every origin it is unchanged. */
export const ownSignature = (signature: unknown, origin: string | undefined) => {
  const text = asString(signature);
  return origin === undefined ? text : untagged(text, origin) || undefined;
};

/** Who wrote the latest thinking of the history; undefined if it has none, or an untagged one. */
export const latestOrigin = ({ turns }: Pick<GenerationRequest, 'turns'>): string | undefined => {
  const turn = turns.findLast(({ blocks }) => blocks.some(isThinking));
  const block = turn?.blocks.findLast(isThinking);
  return TAG.exec(block?.signature ?? '')?.[1];
};

const isThinking = (block: Block): block is ThinkingBlock => block.type === 'thinking';

/** The thinking as `origin` is sent it; undefined if another one wrote it. Of every origin it is unchanged. */
export const keptThinking = (
  block: ThinkingBlock,
  origin: string | undefined,
): ThinkingBlock | undefined => {
  if (origin === undefined) return block;
  // Chat callers send thinking without a signature; chat upstreams accept it, others omit it.
  if (block.signature === undefined) return origin === NO_ORIGIN ? undefined : block;
  const signature = untagged(block.signature, origin);
  if (signature === undefined) return undefined;
  const { signature: _, ...bare } = block;
  return signature ? { ...bare, signature } : bare;
};

const stripTurns = mapOnce(
  (turn: Turn, _, origin: string): Turn =>
    turn.blocks.some(isThinking)
      ? {
          ...turn,
          blocks: turn.blocks
            .map((block) => (isThinking(block) ? keptThinking(block, origin) : block))
            .filter((block) => block !== undefined),
        }
      : turn,
);

/** Keeps the thinking of `origin`, with its original signature; removes that of other origins. */
export const stripForeignThinking = (request: GenerationRequest, origin = request.thinkingFrom) =>
  origin === undefined
    ? request
    : {
        ...request,
        thinkingFrom: origin,
        extras: withOwnContainer(request.extras, origin),
        turns: stripTurns(request.turns, origin),
      };

/** The request as a target gets it: streamed if possible, which gives a first-event and an idle limit, and shows a truncated answer as one. */
export const sentRequest = (request: GenerationRequest): GenerationRequest =>
  stripForeignThinking({ ...request, stream: !request.isWhole });
