import * as z from 'zod';
import { GROUPINGS } from '../history/read-usage.ts';
import { isWhoGrouping, WHO_GROUPINGS } from '../history/read-who.ts';
import { SORT_NAMES } from '../history/top-groups.ts';
import { METERS } from '../records/events.ts';
import { FAULTS } from '../records/explain.ts';
import type { RecordPlace } from '../stores/record-store.ts';
import { Instant, KEY_ID, MAX_ID_LENGTH } from './input.ts';

const SoughtId = z.string().max(MAX_ID_LENGTH);
const Named = z.string().min(1).max(256);

const cursorOf = (form: RegExp) =>
  z.string().regex(form, 'must be the next_cursor of an earlier response');
const limitOf = (most: number, usual = most) =>
  z.coerce.number().int().min(1).max(most).default(usual);

const Range = { since: Instant.exactOptional(), until: Instant.exactOptional() };

const KeyQuery = z.strictObject({
  /** Part of a name, an id or the first characters, in any case. */
  q: z.string().max(100).exactOptional(),
  status: z.enum(['active', 'paused', 'expired', 'revoked', 'unreadable']).exactOptional(),
  /** Counts all that match: a read of each key of the project. */
  count: z.literal('true').exactOptional(),
  limit: limitOf(1_000),
  cursor: cursorOf(KEY_ID).exactOptional(),
});
export type KeyQuery = z.output<typeof KeyQuery>;

/** Each key of a page is a read of its meter. */
const MAX_METERS = 200;

/** Ids with commas. */
const KeyIds = z
  .string()
  .transform((ids) => ids.split(','))
  .pipe(z.array(z.string().regex(KEY_ID)).max(MAX_METERS));

const KeyUsageQuery = z.strictObject({
  ...KeyQuery.omit({ count: true }).shape,
  limit: limitOf(MAX_METERS),
  keys: KeyIds.exactOptional(),
});

const MemberQuery = z.strictObject({
  /** The beginning of an address. */
  q: z
    .string()
    .regex(/^[^\s"\\]{0,100}$/, 'must be the beginning of an e-mail address')
    .default(''),
  project: SoughtId.exactOptional(),
  cursor: z.string().max(4_000).exactOptional(),
});

/** A project, and in it the day, key and model of the last row. */
export const USAGE_CURSOR = /^([\w.-]{1,64})(?:\|(\d{4}-\d\d-\d\d)\|(\w{0,64})\|(.{0,300}))?$/;

/** `until` is not included, if it is the first instant of a day. */
const UsageQuery = z.strictObject({
  ...Range,
  by: z
    .enum(GROUPINGS)
    .or(z.string().refine(isWhoGrouping, `must be ${GROUPINGS.join(', ')}, ${WHO_GROUPINGS}`))
    .exactOptional(),
  project: SoughtId.exactOptional(),
  key: SoughtId.exactOptional(),
  /** Several keys: the sums of a page of a list. */
  keys: KeyIds.exactOptional(),
  /** With `by`: so many of the highest sums, and those of all others. */
  limit: z.coerce.number().int().min(1).max(1_000).exactOptional(),
  /** What is highest. */
  sort: z.enum(SORT_NAMES).exactOptional(),
  cursor: cursorOf(USAGE_CURSOR).exactOptional(),
});
export type UsageQuery = z.output<typeof UsageQuery>;

const ReconcileQuery = z.strictObject({
  project: SoughtId.exactOptional(),
  /** The project that the last page has stopped in, and where, or the one that it has stopped before. */
  cursor: SoughtId.exactOptional(),
});

/** Until when the export reads, a project, and in it the last item. */
export const EXPORT_CURSOR = /^(\d{1,15})\|([\w.-]{1,64})(?:\|(.{1,400}))?$/;
/** Events of 0.5 to 1 KB; a response has at most 6 MB. */
const MAX_EVENTS = 2_000;

const ExportQuery = z.strictObject({
  from: Instant,
  to: Instant.exactOptional(),
  project: SoughtId.exactOptional(),
  /** The account that pays the providers, in FOCUS. */
  account: z.string().min(1).max(100).default('model-router'),
  /** What events of Stripe count. */
  meter: z.enum(METERS).default('cost'),
  /** Of a page, at most. */
  limit: limitOf(MAX_EVENTS),
  cursor: cursorOf(EXPORT_CURSOR).exactOptional(),
});
export type ExportQuery = z.output<typeof ExportQuery>;

const RequestQuery = z.strictObject({
  project: SoughtId.exactOptional(),
  key: SoughtId.exactOptional(),
  /** A status, its class (`5xx`), or an outcome. */
  status: z
    .string()
    .regex(
      /^(?:[1-5]\d\d|[1-5]xx|finished|abandoned|failed|refused)$/,
      'must be 429, 5xx or failed',
    )
    .exactOptional(),
  /** As the record has them; `target` is the one that served the request or failed last. */
  model: Named.exactOptional(),
  target: Named.exactOptional(),
  error: Named.exactOptional(),
  fault: z.enum(FAULTS).exactOptional(),
  user: Named.exactOptional(),
  session: Named.exactOptional(),
  agent: Named.exactOptional(),
  client: Named.exactOptional(),
  /** `name=value`. */
  tag: Named.exactOptional(),
  ...Range,
  limit: limitOf(1_000, 50),
  cursor: cursorOf(/^\d{4}-\d{2}-\d{2}\|req_\w{24}$/)
    .transform((text): RecordPlace => {
      const [day = '', id = ''] = text.split('|');
      return { day, id };
    })
    .exactOptional(),
});
export type RequestQuery = z.output<typeof RequestQuery>;

const AuditQuery = z.strictObject({
  ...Range,
  /** A part of the name, in any case. */
  who: SoughtId.exactOptional(),
  project: SoughtId.exactOptional(),
  key: SoughtId.exactOptional(),
  limit: limitOf(1_000, 100),
  cursor: cursorOf(/^aud_\w{20}(?:-\d{4,})?$/).exactOptional(),
});

/** `model` is an id; all models if it is absent. */
const CalibrationQuery = z.strictObject({
  model: z.string().exactOptional(),
  since: Instant.exactOptional(),
});

/** `limits`: also what providers stated, of up to 500 records of the last hour. */
const MetricsQuery = z.object({ limits: z.literal('true').exactOptional() });

/** The queries of operations that accept one; of the others a query is ignored. */
export const QUERIES = {
  'keys.list': KeyQuery,
  'quotas.list': KeyUsageQuery,
  'members.list': MemberQuery,
  usage: UsageQuery,
  overview: z.strictObject({ project: SoughtId.exactOptional() }),
  reconcile: ReconcileQuery,
  export: ExportQuery,
  'requests.list': RequestQuery,
  'audit.list': AuditQuery,
  calibration: CalibrationQuery,
  metrics: MetricsQuery,
};
