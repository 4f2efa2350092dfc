import type { BlockHead, Extras, FinishReason, GenerationEvent, Usage } from './generation.ts';
import { isJsonObject } from './json.ts';
import { UpstreamFault } from './upstream-fault.ts';

type OpenBlock = { index: number; head: BlockHead; text: string };

/**
 * Writes canonical events that are well-formed whatever the upstream sent: dense indices, every block
 * closed once, one start, one finish, a finish reason that fits the blocks. Decoders name blocks by
 * keys of their own wire (`tool:3`), so fragments that interleave find their block.
 */
export type EventWriter = {
  start(usage?: Partial<Usage>): void;
  isOpen(key: string): boolean;
  open(key: string, head: BlockHead): void;
  /** Appends to an open block; empty deltas vanish. */
  delta(key: string, text: string): void;
  extra(key: string, extras: Extras): void;
  close(key: string, signature?: string): void;
  /** Closes tool calls whose arguments are complete, so that what follows need not wait for them. */
  closeCompleteTools(): void;
  /** @throws UpstreamFault when there is no answer, or tool arguments are not a JSON object. */
  finish(reason: FinishReason, usage: Usage | undefined): void;
  readonly finished: boolean;
  /** The events written since the last call. */
  drain(): GenerationEvent[];
};

/** Some upstreams say `stop` beside tool calls, or `tool_calls` without one; agents act on the word. */
const fitting = (reason: FinishReason, hasTools: boolean): FinishReason => {
  if (hasTools && reason.unified === 'stop') return { unified: 'tool-calls' };
  if (!hasTools && reason.unified === 'tool-calls') return { unified: 'stop' };
  return reason;
};

/** `mayBeEmpty`: a stop sequence may come first of all, so an answer without content is one. */
export const createEventWriter = ({ mayBeEmpty = false } = {}): EventWriter => {
  const blocks = new Map<string, OpenBlock>();
  /** Open tool calls that have had something to say since they were last looked at. */
  const unread = new Set<string>();
  let events: GenerationEvent[] = [];
  let count = 0;
  let started = false;
  let finished = false;
  let hasTools = false;
  let hasContent = false;
  let brokenTool: string | undefined;

  const start = (usage?: Partial<Usage>) => {
    if (started) return;
    started = true;
    events.push(usage ? { type: 'start', usage } : { type: 'start' });
  };

  const close = (key: string, signature?: string) => {
    const block = blocks.get(key);
    if (!block) return;
    blocks.delete(key);
    unread.delete(key);
    const { head, text, index } = block;
    if (head.type === 'tool-call' && text !== '' && !isJsonObject(text)) {
      brokenTool ??= head.name;
    }
    events.push(
      signature === undefined
        ? { type: 'block-end', index }
        : { type: 'block-end', index, signature },
    );
  };

  const open = (key: string, head: BlockHead) => {
    start();
    // A wire that starts a block twice has begun another one.
    close(key);
    const index = count++;
    blocks.set(key, { index, head, text: '' });
    if (head.type === 'tool-call') hasTools = true;
    if (head.type === 'foreign' || head.type === 'tool-call') hasContent = true;
    events.push({ type: 'block-start', index, block: head });
  };

  const delta = (key: string, text: string) => {
    const block = blocks.get(key);
    if (!block) throw new UpstreamFault('malformed', `delta for block '${key}', which is not open`);
    const isTool = block.head.type === 'tool-call';
    // White space before arguments says nothing; where nothing else follows it is no JSON.
    const said = isTool && block.text === '' ? text.trimStart() : text;
    if (said === '') return;
    hasContent = true;
    if (isTool) {
      block.text += said;
      unread.add(key);
    }
    events.push({ type: 'block-delta', index: block.index, delta: said });
  };

  const extra = (key: string, extras: Extras) => {
    const block = blocks.get(key);
    if (block) events.push({ type: 'block-extra', index: block.index, extras });
  };

  const closeCompleteTools = () => {
    for (const key of unread) {
      if (isJsonObject(blocks.get(key)?.text ?? '')) close(key);
    }
    unread.clear();
  };

  const finish = (reason: FinishReason, usage: Usage | undefined) => {
    start();
    for (const key of [...blocks.keys()]) close(key);
    const cutShort = reason.unified === 'length' || reason.unified === 'content-filter';
    if (!hasContent && !cutShort && !mayBeEmpty) {
      throw new UpstreamFault('empty', 'finished without any content');
    }
    // A call cut off by the token cap is unfinished by nature; any other must be usable.
    if (brokenTool !== undefined && !cutShort) {
      throw new UpstreamFault(
        'malformed',
        `arguments of tool '${brokenTool}' are not a JSON object`,
      );
    }
    finished = true;
    events.push({ type: 'finish', reason: fitting(reason, hasTools), usage });
  };

  return {
    start,
    isOpen: (key) => blocks.has(key),
    open,
    delta,
    extra,
    close,
    closeCompleteTools,
    finish,
    get finished() {
      return finished;
    },
    drain: () => {
      const drained = events;
      events = [];
      return drained;
    },
  };
};
