import type { Queue } from './fair-queue.ts';
import { type Amounts, QUOTA_KINDS } from './quota.ts';

type List = (number | null)[];

/** Amounts in the order of `QUOTA_KINDS`, rounded; `null` for what the quota does not limit. */
const listOf = (amounts: Amounts, decimals: number): List =>
  QUOTA_KINDS.map((kind) => {
    const amount = amounts[kind];
    return amount === undefined ? null : Number(amount.toFixed(decimals));
  });

const amountsIn = (list: List): Amounts =>
  Object.fromEntries(
    QUOTA_KINDS.flatMap((kind, index) => {
      const amount = list[index];
      return Number.isFinite(amount) ? [[kind, amount]] : [];
    }),
  );

type Stored = [at: number, levels: List, rows: Row[], limits?: List];
type Row = [name: string, tag: number, ago: number, ...places: Place[]];
type Place = [by: string, forMs: number, needs: List, weight?: number, isLate?: 1];

/** Short, because an item of a kilobyte more costs a write more: 100 flows that wait are 4 KB. */
export const textOf = ({ at, levels, flows, limits }: Queue): string =>
  JSON.stringify([
    at,
    listOf(levels, 3),
    Object.entries(flows).map(
      ([name, { tag, seen, places }]): Row => [
        ...([name, Number(tag.toFixed(9)), at - seen] as const),
        ...places.map(({ by, until, needs, weight, isLate }): Place => {
          const place = [by, until - at, listOf(needs, 0)] as const;
          if (isLate) return [...place, weight, 1];
          return weight === 1 ? [...place] : [...place, weight];
        }),
      ],
    ),
    ...(limits ? [listOf(limits, 0)] : []),
  ]);

/** Undefined for a text that is none of this release: the queue starts empty. */
export const queueIn = (text: string | undefined): Queue | undefined => {
  try {
    const [at, levels, rows, limits]: Stored = JSON.parse(text ?? '');
    if (!Number.isFinite(at)) return undefined;
    const flows = rows.map(([name, tag, ago, ...places]) => [
      name,
      {
        ...{ tag, seen: at - ago },
        // Of a release before, what a flow needs has no process: its place ends, the levels stay.
        places: places
          .filter(([, , needs]) => Array.isArray(needs))
          .map(([by, forMs, needs, weight = 1, isLate]) => ({
            ...{ by, until: at + forMs, needs: amountsIn(needs), weight },
            ...(isLate && { isLate: true }),
          })),
      },
    ]);
    return {
      ...{ at, levels: amountsIn(levels), flows: Object.fromEntries(flows) },
      ...(limits && { limits: amountsIn(limits) }),
    };
  } catch {
    return undefined;
  }
};
