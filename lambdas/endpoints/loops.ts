import { isDeepStrictEqual } from 'node:util';
import type { Block, GenerationRequest, ToolCallBlock, Turn } from '../protocols/generation.ts';
import type { HeaderMap } from '../protocols/protocol.ts';
import { ApiError, DO_NOT_RETRY } from '../support/errors.ts';
import type { CheckedCall } from './check-call.ts';

/*
 * An agent that repeats itself is seen in the history that its request carries: the same calls of tools with the same input and
 * the same results, or, without tools, the same words on both sides, or steps whose size, and so their cost, rises without an end.
 * No store is read, and nothing of it is kept.
 */

/** Repetitions of one step, and of two to four steps by turns, that are a loop. */
const OF_ONE = 8;
const OF_SEVERAL = 6;
const LONGEST_ROUND = 4;
const MOST_STEPS = OF_SEVERAL * LONGEST_ROUND;
/** Steps of the same tools, each larger than the one before it by this factor, and by more than that was. */
const OF_GROWTH = 10;
const GROWTH = 1.1;
/** Characters of the last one. */
const LARGE_STEP = 4_000;

/** Calls that wait for something, which may have the same result for long. */
const WAITS = /sleep|wait|poll|watch|status|state|monitor|progress|output|check|tail|list|get_/i;
const LOOKED_AT = 2_000;

/** What the model said, and what it got for that. */
type Step = { said: Turn; got: Turn[] };

/** The latest steps that are over, the newest first. */
const stepsOf = (turns: readonly Turn[]): Step[] => {
  const steps: Step[] = [];
  let got: Turn[] = [];
  for (let at = turns.length - 1; at >= 0 && steps.length < MOST_STEPS; at -= 1) {
    const turn = turns[at];
    if (!turn || turn.role === 'system') continue;
    if (turn.role === 'user') got.push(turn);
    else {
      if (got.length > 0) steps.push({ said: turn, got });
      got = [];
    }
  }
  return steps;
};

const isCall = (block: Block): block is ToolCallBlock => block.type === 'tool-call';
const callsOf = ({ said }: Step): ToolCallBlock[] => said.blocks.filter(isCall);
const isResult = ({ type }: Block): boolean => type === 'tool-result';
const isText = ({ type }: Block): boolean => type === 'text';

/** Whether two blocks have the same content; ids and marks of caches differ between repetitions. */
const isSame = (one: Block, other: Block): boolean => {
  if (one.type === 'text' && other.type === 'text') return one.text === other.text;
  if (one.type === 'tool-call' && other.type === 'tool-call')
    return one.name === other.name && one.arguments === other.arguments;
  if (one.type === 'tool-result' && other.type === 'tool-result')
    return areSame(one.content, other.content);
  return isDeepStrictEqual(one, other);
};

const areSame = (one: readonly Block[], other: readonly Block[]): boolean =>
  one.length === other.length &&
  one.every((block, at) => {
    const match = other[at];
    return match !== undefined && isSame(block, match);
  });

const blocksOf = (turns: readonly Turn[], isWanted: (block: Block) => boolean): Block[] =>
  turns.flatMap(({ blocks }) => blocks.filter(isWanted));

const isRepeated = (one: Step, other: Step): boolean => {
  const calls = callsOf(one);
  if (!areSame(calls, callsOf(other))) return false;
  // Words around a call differ, and so do reminders that clients add to its results.
  const isWanted = calls.length > 0 ? isResult : isText;
  const said = calls.length > 0 || areSame([one.said].flatMap(textsOf), textsOf(other.said));
  return said && areSame(blocksOf(one.got, isWanted), blocksOf(other.got, isWanted));
};

const textsOf = ({ blocks }: Turn): Block[] => blocks.filter(isText);

const isWaiting = (step: Step): boolean =>
  callsOf(step).some((call) => WAITS.test(call.name + call.arguments.slice(0, LOOKED_AT)));

/** Whether the last steps are rounds of so many, each the same as the one before it. */
const isRound = (steps: readonly Step[], size: number): boolean => {
  const needed = size * (size === 1 ? OF_ONE : OF_SEVERAL);
  if (steps.length < needed) return false;
  for (let at = 0; at + size < needed; at += 1) {
    const [one, other] = [steps[at], steps[at + size]];
    if (!one || !other || !isRepeated(one, other)) return false;
  }
  return !steps.slice(0, size).some(isWaiting);
};

const sizeOf = (block: Block): number => {
  if (block.type === 'text') return block.text.length;
  if (block.type === 'tool-call') return block.arguments.length;
  return block.type === 'tool-result' ? sum(block.content) : 0;
};
const sum = (blocks: readonly Block[]): number =>
  blocks.reduce((total, block) => total + sizeOf(block), 0);

/** Whether each of the last steps calls the same tools and costs more than the one before it, without an end. */
const isGrowing = (all: readonly Step[]): boolean => {
  const steps = all.slice(0, OF_GROWTH);
  const namesOf = (step: Step) =>
    callsOf(step)
      .map(({ name }) => name)
      .join();
  const names = steps.map(namesOf);
  if (steps.length < OF_GROWTH || names[0] === '' || new Set(names).size > 1) return false;
  const sizes = steps.map(({ said, got }) => sum([said, ...got].flatMap(({ blocks }) => blocks)));
  const rises = sizes.slice(1).map((size, at) => (sizes[at] ?? 0) - size);
  return (
    (sizes[0] ?? 0) >= LARGE_STEP &&
    rises.every((rise, at) => rise >= (GROWTH - 1) * (sizes[at + 1] ?? 0)) &&
    rises.slice(1).every((rise, at) => (rises[at] ?? 0) >= GROWTH * rise) &&
    !steps.some(isWaiting)
  );
};

export const isLoop = ({ turns }: Pick<GenerationRequest, 'turns'>): boolean => {
  if (turns.length < 2 * OF_ONE) return false;
  const steps = stepsOf(turns);
  for (let size = 1; size <= LONGEST_ROUND; size += 1) if (isRound(steps, size)) return true;
  return isGrowing(steps);
};

/** 402, which no client repeats. */
const loopError = (): ApiError =>
  new ApiError(
    'insufficient_quota',
    `The last steps of this conversation repeat each other with the same results or ever larger ones, and the key's plan stops loops. Do something else than ` +
      'the last tool calls, or start a new conversation; a person has to look at it otherwise.',
    { status: 402, code: 'loop', details: { error_code: 'loop' }, headers: DO_NOT_RETRY },
  );

/** The header of a request in a loop. @throws ApiError 402 if its plan stops loops */
export const warnOfLoop = ({
  call,
  request,
}: Pick<CheckedCall, 'call' | 'request'>): HeaderMap | undefined => {
  const { loops } = call.caller.plan;
  if (loops === 'off' || !isLoop(request)) return undefined;
  if (loops === 'stop') throw loopError();
  call.note({ loop: true });
  return { 'x-router-warning': 'loop' };
};
