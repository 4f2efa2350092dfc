import type { TableCall, Trouble } from '../../metering/dynamo-proxy.ts';
import { TABLE_NAMES } from '../../support/dynamo.ts';

/** What the request under test comes to while all dependencies work. */
export const ENDS = ['an answer', 'a failure', 'an answer to the probe', 'its usage'] as const;
export type End = (typeof ENDS)[number];

/** What the environment knows when the request arrives, by the milliseconds since it asked last. */
export const AGES = {
  cold: undefined,
  warm: 0,
  /** Keys, plans and breakers are read again; old values may be served. */
  stale: 60_000,
  /** So old that keys and plans must be read; the secret is read again, and its old value may be served. */
  outdated: 16 * 60_000,
} as const;
export type Age = keyof typeof AGES;
export const AGE_NAMES: Age[] = ['cold', 'warm', 'stale', 'outdated'];

/** One kind of request in one kind of environment. */
export type Situation = {
  end: End;
  age: Age;
  family: 'chat' | 'messages';
  isStream: boolean;
};

/** The first call that meets the fault; every later one of its kind meets it as well. */
export type Call = Pick<TableCall, 'operation' | 'table'> & { nth: number };

export type Cell = Situation & { call: Call; trouble: Trouble };

const TROUBLES: Trouble[] = [
  'silence',
  'slow',
  'late',
  'reset',
  'lost answer',
  'throttled',
  'expired token',
];

const isReadOfUsage = ({ end }: Pick<Situation, 'end'>) => end === 'its usage';

/** Breakers are read again after two seconds only, so that a half-open one is found by a stale cache. */
const exists = ({ end, age, isStream }: Situation): boolean =>
  (end !== 'an answer to the probe' || age === 'stale') && !(end === 'its usage' && isStream);

export const SITUATIONS: Situation[] = ENDS.flatMap((end) =>
  AGE_NAMES.flatMap((age) =>
    [true, false].map((isStream): Situation => {
      const family = isStream === (age === 'cold' || age === 'stale') ? 'chat' : 'messages';
      return { end, age, family, isStream };
    }),
  ),
).filter(exists);

/** Each call as the first of its kind that fails. */
const callsIn = (made: TableCall[]): Call[] => {
  const counts = new Map<string, number>();
  return made.map(({ operation, table }) => {
    const kind = `${operation} ${table}`;
    const nth = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, nth);
    return { operation, table, nth };
  });
};

export const cellsOf = (situation: Situation, made: TableCall[]): Cell[] =>
  callsIn(made).flatMap((call) => TROUBLES.map((trouble) => ({ ...situation, call, trouble })));

export const titleOf = ({ end, age, family, isStream, call, trouble }: Cell): string => {
  const { nth, operation, table } = call;
  const form = isStream ? 'streamed' : 'whole';
  const request = isReadOfUsage({ end }) ? end : `${end}, ${form}`;
  const place = table === undefined ? operation : `${operation} of ${table}`;
  return `${trouble} from ${place} ${nth} on, ${age}: ${request} (${family})`;
};

const isSecret = ({ call }: Cell) => call.operation === 'GetSecretValue';
const isOfKey = ({ call: { table } }: Cell) =>
  table === TABLE_NAMES.keys || table === TABLE_NAMES.plans;
const isWrite = ({ call }: Cell) => call.operation === 'UpdateItem';
/** Within the patience of the call: a second for a table, four for the secret. */
const isShort = (cell: Cell) =>
  cell.trouble === 'slow' || (cell.trouble === 'late' && isSecret(cell));

/** Whether the request needs the call: to be counted, or for a value that is not in memory. */
const mayFail = (cell: Cell): boolean => {
  if (isShort(cell)) return false;
  if (isSecret(cell)) return cell.age === 'cold';
  if (isWrite(cell) || isReadOfUsage(cell)) return true;
  // Of the meters table a generation reads breakers, which are optional.
  return cell.call.table !== TABLE_NAMES.meters && (cell.age === 'cold' || cell.age === 'outdated');
};

/** The status without a fault. */
export const usualOf = ({ end }: Pick<Cell, 'end'>): number => (end === 'a failure' ? 502 : 200);

/**
 * Whether the request cannot do without the call. The first write of a meter reserves the unit; later ones
 * settle it. The probe's request writes its breaker as well, in no fixed order.
 */
const mustFail = (cell: Cell): boolean => {
  const { call, end } = cell;
  if (!mayFail(cell) || end === 'an answer to the probe' || end === 'its usage') return false;
  return isWrite(cell) ? call.table === TABLE_NAMES.meters && call.nth === 1 : call.nth === 1;
};

/** Whether the call comes after the request was admitted, so that its fault shows in no status. */
const comesAfter = (cell: Cell): boolean =>
  isWrite(cell) && (cell.call.table !== TABLE_NAMES.meters || cell.call.nth > 1);

/** A call ends after three attempts of a second, a request after two such calls; a backstop for busy machines. */
const LONGEST_MS = 10_000;
/** The reads of a key and its plan have one timeout, of 2.4 s. */
const LONGEST_LOOK_UP_MS = 2_500;

/** Milliseconds that the response may take. */
export const longestOf = (cell: Cell): number =>
  isOfKey(cell) && mustFail(cell) ? LONGEST_LOOK_UP_MS : LONGEST_MS;

/** Statuses that the caller may get; a fault that met no call shows nothing. */
export const statusesOf = (cell: Cell, isMet: boolean): number[] => {
  if (!isMet) return [usualOf(cell)];
  if (mustFail(cell)) return [503];
  const isUncertain = cell.end === 'an answer to the probe' || !comesAfter(cell);
  return mayFail(cell) && isUncertain ? [usualOf(cell), 503] : [usualOf(cell)];
};

/** Statuses of another tenant's request at the same time, which shares the secret but no item. */
export const bystanderStatusesOf = (cell: Cell): number[] =>
  isSecret(cell) && mayFail(cell) ? [200, 503] : [200];

/** What a sample holds: each kind of call with each fault, and each call at each age. */
const pairsOf = ({ call, trouble, age }: Cell): string[] => {
  const kind = `${call.operation} ${call.table}`;
  return [`${kind} ${trouble}`, `${kind} ${call.nth} ${age}`];
};

/** The cells that add a pair to those before them, behind those that add two: fewer are enough then. */
export const sampleOf = (shuffled: Cell[]): Cell[] => {
  const seen = new Set<string>();
  const thatAdd = (least: number): Cell[] =>
    shuffled.filter((cell) => {
      const added = pairsOf(cell).filter((pair) => !seen.has(pair));
      if (added.length < least) return false;
      for (const pair of added) seen.add(pair);
      return true;
    });
  return [...thatAdd(2), ...thatAdd(1)];
};
