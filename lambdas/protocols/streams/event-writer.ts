import { omitUndefined } from '../../support/objects.ts';
import { asCount, asString, isJsonObject } from '../bytes/json.ts';
import type {
  BlockHead,
  Body,
  Citation,
  FinishReason,
  GenerationEvent,
  Usage,
} from '../generation.ts';
import type { CallerProtocolName } from '../protocol-name.ts';
import { UpstreamError } from '../rejections/upstream-error.ts';

/**
 * Writes canonical events that are well-formed for any input of an upstream: dense indices, each
 * block closed once, one start, one finish, a finish reason that fits the blocks. Decoders name
 * blocks by keys of their protocol (`tool:3`), so interleaved fragments find their block.
 */
export type EventWriter = {
  start(usage?: Partial<Usage>): void;
  isOpen(key: string): boolean;
  open(key: string, head: BlockHead): void;
  /** Appends to an open block; an empty delta writes no event. @throws UpstreamError if not open */
  delta(key: string, text: string): void;
  close(key: string, signature?: string): void;
  /** Closes tool calls whose arguments are complete, so that later blocks need not wait for them. */
  closeCompleteTools(): void;
  /** @throws UpstreamError if tool arguments are not a JSON object. */
  finish(reason: FinishReason, usage: Usage | undefined): void;
  /** Adds a page that the open block under `key` cites, or the whole text; one without an address is left out. */
  cite(key: string | undefined, page: Page): void;
  isFinished(): boolean;
  /** The events written since the last call. */
  drain(): GenerationEvent[];
};

/** A cited page as it was received. */
export type Page = { url: unknown; title: unknown; start?: unknown; end?: unknown };

// --- open blocks ---

/** `key` is the decoder's name of the block; `text` is kept of JSON arguments only. */
type OpenBlock = { key: string; index: number; head: BlockHead; text: string };

/** What is written of a response; the writers of several choices share it, as they number its blocks together. */
export const createOutput = () => ({
  events: [] as GenerationEvent[],
  blocks: 0,
  isStarted: false,
});
type Output = ReturnType<typeof createOutput>;

// --- events of blocks ---

/** The content of a response so far, which decides whether it may finish and with which reason. */
type Content = {
  hasContent: boolean;
  hasTools: boolean;
  /** Name of the first tool whose arguments are not a JSON object. */
  brokenTool: string | undefined;
};

/** A call whose arguments are JSON; those of a custom tool are any text. */
const isJsonCall = (head: BlockHead): head is BlockHead & { type: 'tool-call' } =>
  head.type === 'tool-call' && !head.custom;

/**
 * Drops white space before arguments: if no other text follows, it would not be valid JSON. Gateways in Go write a call without
 * arguments as null.
 */
const trimLead = ({ head, text }: OpenBlock, delta: string): string => {
  if (!isJsonCall(head) || text !== '') return delta;
  return delta.trim() === 'null' ? '' : delta.trimStart();
};

const brokenToolIn = ({ head, text }: OpenBlock): string | undefined =>
  isJsonCall(head) && text !== '' && !isJsonObject(text) ? head.name : undefined;

const opensWithContent = ({ type }: BlockHead): boolean => type !== 'text' && type !== 'thinking';

/** Whether no caller of the protocol `caller` is shown anything of a block. */
const isForeign = (head: BlockHead, caller: CallerProtocolName | undefined): boolean =>
  head.type === 'native' && caller !== undefined && head.protocol !== caller;

type Place = { output: Output; choice: number; caller: CallerProtocolName | undefined };

/** The blocks that have started and not ended, numbered in the order of their start. */
const createBlockEvents = ({ output, choice, caller }: Place) => {
  const blocks = new Map<string, OpenBlock>();
  /** Tool calls with new arguments since the complete ones were closed; only these are parsed again. */
  const changed = new Set<OpenBlock>();
  const content: Content = { hasContent: false, hasTools: false, brokenTool: undefined };

  const close = (key: string, signature?: string) => {
    const block = blocks.get(key);
    if (!block) return;
    blocks.delete(key);
    changed.delete(block);
    content.brokenTool ??= brokenToolIn(block);
    const end = { type: 'block-end' as const, index: block.index };
    output.events.push(signature === undefined ? end : { ...end, signature });
  };

  const open = (key: string, head: BlockHead) => {
    // A second start under the same key is a new block.
    close(key);
    const index = output.blocks++;
    blocks.set(key, { key, index, head, text: '' });
    if (head.type === 'tool-call') content.hasTools = true;
    if (opensWithContent(head) && !isForeign(head, caller)) content.hasContent = true;
    const start = { type: 'block-start' as const, index, block: head };
    output.events.push(choice > 0 ? { ...start, choice } : start);
  };

  const delta = (key: string, text: string) => {
    const block = blocks.get(key);
    if (!block) throw new UpstreamError('malformed', `delta for block '${key}', which is not open`);
    const trimmed = trimLead(block, text);
    if (trimmed === '') return;
    content.hasContent = true;
    if (isJsonCall(block.head)) {
      block.text += trimmed;
      changed.add(block);
    }
    output.events.push({ type: 'block-delta', index: block.index, delta: trimmed });
  };

  return {
    content,
    isOpen: (key: string) => blocks.has(key),
    indexOf: (key: string) => blocks.get(key)?.index,
    open,
    delta,
    close,
    closeCompleteTools: () => {
      const complete = [...changed].filter(({ text }) => isJsonObject(text));
      changed.clear();
      for (const { key } of complete) close(key);
    },
    closeAll: () => {
      for (const key of [...blocks.keys()]) close(key);
    },
  };
};

// --- finish ---

/** Some upstreams send `stop` with tool calls, or `tool_calls` without one; agents act on it. */
const fittingReason = (reason: FinishReason, hasTools: boolean): FinishReason => {
  const { container } = reason;
  const kept = container && { container };
  if (hasTools && reason.unified === 'stop') return { unified: 'tool-calls', ...kept };
  if (!hasTools && reason.unified === 'tool-calls') return { unified: 'stop', ...kept };
  return reason;
};

const isCut = ({ unified }: FinishReason): boolean =>
  unified === 'length' || unified === 'content-filter';

const checkFinish = (reason: FinishReason, { hasTools, brokenTool }: Content): FinishReason => {
  // Arguments cut off by the token cap are incomplete by nature; all others must be usable.
  if (brokenTool !== undefined && !isCut(reason)) {
    throw new UpstreamError('malformed', `arguments of tool '${brokenTool}' are not a JSON object`);
  }
  return fittingReason(reason, hasTools);
};

/**
 * `caller`: whose native blocks are content; absent: those of every protocol. `mayBeEmpty`: the request has stop sequences,
 * one of which may come before any content. `choice`: which of several responses it writes to an output.
 */
export const createEventWriter = ({
  mayBeEmpty = false,
  choice = 0,
  output = createOutput(),
  caller,
}: Partial<Place> & { mayBeEmpty?: boolean } = {}): EventWriter => {
  let finished = false;
  const citations: Citation[] = [];
  const { content, closeAll, indexOf, ...blocks } = createBlockEvents({ output, choice, caller });

  const start = (usage?: Partial<Usage>) => {
    if (output.isStarted) return;
    output.isStarted = true;
    output.events.push(omitUndefined({ type: 'start' as const, usage }));
  };

  return {
    ...blocks,
    start,
    open: (key, head) => {
      start();
      blocks.open(key, head);
    },
    finish: (reason, usage) => {
      start();
      closeAll();
      const fitting = checkFinish(reason, content);
      finished = true;
      const isEmpty = !content.hasContent && !isCut(reason) && !mayBeEmpty;
      const cited = citations.length > 0 && { citations };
      output.events.push({
        type: 'finish',
        reason: fitting,
        usage,
        ...cited,
        ...(isEmpty && { isEmpty }),
      });
    },
    cite: (key, { url, title, start, end }) => {
      const block = key === undefined ? undefined : indexOf(key);
      const isPlaced = key === undefined || block !== undefined;
      if (typeof url !== 'string' || url === '' || !isPlaced) return;
      const place = omitUndefined({ block, start: asCount(start), end: asCount(end) });
      citations.push({ url, title: asString(title) ?? '', ...place });
    },
    isFinished: () => finished,
    drain: () => {
      const { events } = output;
      output.events = [];
      return events;
    },
  };
};

/** The events of a whole response, with what the upstream sent. */
export const withBody = (events: GenerationEvent[], body: Body): GenerationEvent[] =>
  events.map((event) => (event.type === 'finish' ? { ...event, body } : event));

/**
 * Whether an event is a part of the response, at which the timer of an upstream ends. The start of a text or
 * thinking block is not, because providers send it at once and may be silent, or send pings, after it.
 */
export const isContent = (event: GenerationEvent): boolean =>
  event.type === 'block-delta' ||
  event.type === 'finish' ||
  (event.type === 'block-start' && opensWithContent(event.block));

/** Whether an event shows a caller of a protocol a part of the response, at which failover ends. */
export const isShownTo =
  (caller: CallerProtocolName) =>
  (event: GenerationEvent): boolean =>
    isContent(event) && !(event.type === 'block-start' && isForeign(event.block, caller));
