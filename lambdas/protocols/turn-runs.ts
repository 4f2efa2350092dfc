import type { Turn } from './generation.ts';

export type Run = [Turn, ...Turn[]];

/** Splits a conversation into runs of turns that continue each other, in order. */
export const runsOf = (turns: Turn[], continues: (last: Turn, next: Turn) => boolean): Run[] => {
  const runs: Run[] = [];
  for (const turn of turns) {
    const run = runs.at(-1);
    const last = run?.at(-1);
    if (run && last && continues(last, turn)) run.push(turn);
    else runs.push([turn]);
  }
  return runs;
};

/** The system turns before the conversation, and the rest. */
export const leadOf = (turns: Turn[]): [lead: Turn[], rest: Turn[]] => {
  const count = turns.findIndex(({ role }) => role !== 'system');
  return count === -1 ? [turns, []] : [turns.slice(0, count), turns.slice(count)];
};

/** Joins the turns of each run. The blocks of a run are copied once: a turn at a time, 10,000 turns took a second. */
export const joinRuns = (...conversation: Parameters<typeof runsOf>): Turn[] =>
  runsOf(...conversation).map((run) =>
    run.length === 1 ? run[0] : { ...run[0], blocks: run.flatMap(({ blocks }) => blocks) },
  );

/** Later system turns behind the results of the calls before them: in some protocols nothing may come between the two. */
export const resultsFirst = (turns: Turn[]): Turn[] => {
  const open = new Set<string>();
  const sorted: Turn[] = [];
  let held: Turn[] = [];
  for (const turn of turns) {
    for (const block of turn.blocks) {
      if (block.type === 'tool-call') open.add(block.id);
      if (block.type === 'tool-result') open.delete(block.callId);
    }
    (turn.role === 'system' && open.size > 0 ? held : sorted).push(turn);
    if (open.size > 0) continue;
    sorted.push(...held);
    held = [];
  }
  return [...sorted, ...held];
};
