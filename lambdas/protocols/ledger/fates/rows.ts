import type { CachePlace } from '../../cache/fit-marks.ts';
import type { CallerProtocolName, UpstreamProtocolName } from '../../protocol-name.ts';
import { ESSENTIAL, type IsDefault, isOneOf } from '../paths.ts';

/** What becomes of a member of a request on a target of another protocol. */
export type Fate =
  /**
   * It is sent, in its own or another form; with `to` to targets of these protocols only. To others its loss is named, unless the
   * value is the default, which asks for what a target does anyway.
   */
  | { is: 'carried'; to?: readonly UpstreamProtocolName[]; isDefault: IsDefault }
  /** `strict` of a tool: it is sent where the target's strict mode supports the tool's schema, the member `schema`. */
  | { is: 'strict'; schema: string }
  /** About caches: the target's profile decides (cache/members.ts). */
  | { is: 'cache'; at: CachePlace }
  /** Its loss changes no response; it may be sent or not. `why`: a word, whose sentence is in docs/translation.md. */
  | { is: 'harmless'; why: string }
  /** Without it the response is another one: only targets of the caller's protocol are called. */
  | { is: 'essential'; isDefault: IsDefault };

export type ObjectRow = { is: 'object'; members: Rows; absent: Record<string, unknown> };

export type Row =
  | Fate
  | { is: 'list'; item: Row }
  | ObjectRow
  | { is: 'kinds'; by: 'type' | 'role'; rows: Rows; usual: string; dated: Dated | undefined };

/** The row of kinds whose names have a date. */
type Dated = { pattern: RegExp; row: Row };

/** Without a prototype, because a caller's member may be called `constructor`. */
export type Rows = Readonly<Record<string, Row | undefined>>;
type Members = Record<string, Row>;

const rowsOf = (rows: Members): Rows => Object.assign(Object.create(null), rows);

/** A default matters where a target's model rejects the member. */
export const carried = (...defaults: unknown[]): Row => ({
  is: 'carried',
  isDefault: isOneOf(defaults),
});
export const CARRIED = carried();

export const carriedTo = (to: readonly UpstreamProtocolName[], ...defaults: unknown[]): Row => ({
  is: 'carried',
  to,
  isDefault: isOneOf(defaults),
});

export const namedUnless = (isDefault: IsDefault): Row => ({ is: 'carried', to: [], isDefault });
export const namedBut = (...defaults: unknown[]): Row => namedUnless(isOneOf(defaults));

export const strictOf = (schema: string): Row => ({ is: 'strict', schema });

export const cache = (at: CachePlace): Row => ({ is: 'cache', at });

export const harmless = (why: string): Row => ({ is: 'harmless', why });

export const essentials = (from: CallerProtocolName): Members =>
  Object.fromEntries(
    Object.entries(ESSENTIAL[from]).map(([name, defaults]) => [
      name,
      { is: 'essential', isDefault: isOneOf(defaults) },
    ]),
  );

/** The same row for several members, separated by spaces. */
export const all = (row: Row, names: string): Members =>
  Object.fromEntries((names.match(/\S+/g) ?? []).map((name) => [name, row]));

/** The names of members that are carried, and the others. `absent`: what the vendor assumes of absent ones. */
export const object = (
  names: string,
  members: Members = {},
  absent: Record<string, unknown> = {},
): ObjectRow => ({ is: 'object', members: rowsOf({ ...all(CARRIED, names), ...members }), absent });

export const list = (item: Row): Row => ({ is: 'list', item });

/** A list of objects, or a single one, whose member `by` selects the row; `usual` is the kind of those without it. */
export const kinds = (by: 'type' | 'role', rows: Members, usual = '', dated?: Dated): Row => ({
  is: 'kinds',
  by,
  rows: rowsOf(rows),
  usual,
  dated,
});
