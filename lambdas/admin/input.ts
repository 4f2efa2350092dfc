import * as z from 'zod';
import {
  LOOP_MODES,
  MAX_PLAN_WEIGHT,
  MAX_WAIT_MS,
  PRIORITIES,
  REPLAY_MODES,
} from '../stores/plan-store.ts';
import { DAY_MS, HOUR_MS } from '../support/clock.ts';
import { describeIssue } from '../support/describe-issue.ts';
import { invalidRequest } from '../support/errors.ts';
import { omitUndefined } from '../support/objects.ts';
import { STATE_MODES } from '../tables.ts';
import type { Role } from './roles.ts';

/** Ids that operators choose: short, and safe in a path, a shell and a log. */
const Id = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
    'must be 1 to 64 letters, digits, dots, dashes or underscores',
  );
/** Control and format characters, also those without width, and line separators: they forge what a reader sees. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;
/** Emoji of several characters hold some of them. */
const isPrintable = (name: string): boolean =>
  !UNPRINTABLE.test(name.replaceAll(/\p{RGI_Emoji}/gv, ''));
const Name = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .refine(isPrintable, 'must not contain control or invisible characters');
export const KEY_ID = /^key_\w{1,40}$/;
/** The default is far above any real limit, far below where a counter loses precision. */
const countFrom = (least: number, most = 1_000_000_000_000) =>
  z.number().multipleOf(1, 'must be an integer').min(least).max(most);
const Count = countFrom(0);
const Concurrency = countFrom(1);
/** Of an e-mail address, the longest id; DynamoDB rejects a key above 2 KB. */
export const MAX_ID_LENGTH = 128;
/** A date alone is its first instant, in UTC. */
export const Instant = z
  .union([z.iso.date(), z.iso.datetime({ offset: true })], {
    error: ({ input }) =>
      input === undefined
        ? undefined
        : 'must be a date such as 2027-01-31, or with a time: 2027-01-31T00:00:00Z',
  })
  .transform((text) => Date.parse(text));
export const Month = z
  .string()
  .regex(/^20\d\d-(?:0[1-9]|1[0-2])$/, 'must be a month such as 2026-10');
const ModelIds = z
  .array(z.string())
  .min(1)
  .transform((ids) => [...new Set(ids)]);

/** The part of a range in which something may be kept: each of its days or months costs reads. @throws ApiError 400 */
export const keptRange = (
  { since, until = Number.POSITIVE_INFINITY }: { since: number; until?: number | undefined },
  days: number,
  now: number,
): { from: number; to: number } => {
  if (until < since) throw invalidRequest('The range must not end before it begins.');
  return {
    // At most a day ahead: as texts, days after the year 9999 do not sort.
    from: Math.min(Math.max(since, now - days * DAY_MS), now + DAY_MS),
    // A second ahead, as the clocks of environments differ.
    to: Math.min(until, now + 1_000),
  };
};

/** The body of an operation that its path describes fully. */
export const NoFields = z.strictObject({});

type Changes<Fields> = { [Name in keyof Fields]?: Fields[Name] | null };

/** What is stored, with the fields of a change: null removes one. */
export const changedBy = <Stored extends object>(change: Changes<Stored>, stored: Stored): Stored =>
  withoutNulls({ ...stored, ...change }) as Stored;

/** The fields of a change that are set. */
export const withoutNulls = <Fields extends object>(fields: Fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as {
    [Name in keyof Fields]?: NonNullable<Fields[Name]>;
  };

const PlanIds = z
  .array(Id)
  .min(1)
  .max(100)
  .transform((ids) => [...new Set(ids)]);
const MaxKeys = countFrom(0, 1_000);

type Shape = Record<string, z.ZodType>;

/** Fields of which each may be absent. */
const optional = <Fields extends Shape>(fields: Fields) =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, field.exactOptional()]),
  ) as { [Name in keyof Fields]: z.ZodExactOptional<Fields[Name]> };

/** The same fields of a change: null removes one. */
const removable = <Fields extends Shape>(fields: Fields) =>
  optional(
    Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.nullable()])) as {
      [Name in keyof Fields]: z.ZodNullable<Fields[Name]>;
    },
  );

const hasField = (fields: object): boolean => Object.keys(fields).length > 0;

const ProjectFields = { name: Name, plans: PlanIds, max_keys: MaxKeys };
const NewProject = z.strictObject({ id: Id, ...optional(ProjectFields) });

/** `null` removes a name, or allows all plans or any number of keys. */
const ProjectChange = z
  .strictObject(removable(ProjectFields))
  .refine(hasField, 'must have a field to change');

const Labels = z
  .array(z.string().regex(/^[\w.-]{1,80}$/))
  .min(1)
  .max(20);
const Requirement = z
  .strictObject(optional({ region: Labels, retention: Labels }))
  .refine(hasField, 'must name region or retention');

const PlanLimits = { rpm: Count, quota: Count, period: z.enum(['hour', 'day', 'month']) };
/** `null` allows any number of requests in flight, all models, and any target again. */
const Removable = { concurrency: Concurrency, models: ModelIds, require: Requirement };
const PlanOptions = {
  concurrency: Concurrency,
  models: ModelIds,
  replay: z.enum(REPLAY_MODES),
  state: z.enum(STATE_MODES),
  require: Requirement,
  loops: z.enum(LOOP_MODES),
  max_wait_ms: z.int().min(0).max(MAX_WAIT_MS),
  priority: z.enum(PRIORITIES),
  weight: z.int().min(1).max(MAX_PLAN_WEIGHT),
};
const NewPlan = z.strictObject({ id: Id, ...PlanLimits, ...optional(PlanOptions) });
const PlanChange = z.strictObject({
  ...optional({ ...PlanLimits, ...PlanOptions }),
  ...removable(Removable),
});

const Email = z
  .string()
  .toLowerCase()
  .max(MAX_ID_LENGTH)
  .regex(/^[^\s@"\\]+@[^\s@"\\]+$/, 'must be an e-mail address');
const MemberRole = z.custom<Role>(
  (role) => typeof role === 'string' && /^(?:operator|viewer|project:[\w.-]{1,64})$/.test(role),
  'must be operator, viewer or project:ID',
);

const NewMember = z.strictObject({ email: Email, role: MemberRole });

const MemberChange = z.strictObject({
  roles: z
    .array(MemberRole)
    .min(1)
    .max(100)
    .transform((roles) => [...new Set(roles)]),
});

/** At most the plan's limits. */
const KeyLimits = { rpm: Count, quota: Count, ...Removable };
const NewKeyInput = z.strictObject({
  plan: Id,
  ...optional({ name: Name, expires_at: Instant, ...KeyLimits }),
});

/** `null` removes a name, or a limit below the plan's. */
const KeySettings = z
  .strictObject(removable({ name: Name, ...KeyLimits }))
  .refine(hasField, 'must have a field to change');

const KeyMove = z.strictObject({ plan: Id });

/** One of both: the SHA-256 of a whole key in hex, or its first characters as lists show them. */
const FindKey = z
  .strictObject(
    optional({
      sha256: z.string().regex(/^[\da-f]{64}$/, 'must be 64 hexadecimal digits'),
      start: z.string().length(13, 'must be the first 13 characters of a key'),
      id: z.string().regex(KEY_ID, 'must be the id of a key'),
    }),
  )
  .refine((fields) => Object.keys(fields).length === 1, 'must have one of sha256, start and id');

/** Why: the audit and the alert have it. */
const Revocation = z.strictObject({ reason: z.enum(['leaked']).exactOptional() });

/** How long a replaced key keeps working. */
export const OVERLAPS_MS = { none: 0, '1h': HOUR_MS, '24h': DAY_MS, '7d': 7 * DAY_MS };

const Rotation = z.strictObject({
  overlap: z.enum(['none', '1h', '24h', '7d']).default('24h'),
  expires_at: Instant.exactOptional(),
});

const hasUniqueIds = (items: { id: string }[]): boolean =>
  new Set(items.map(({ id }) => id)).size === items.length;

/** Projects and plans of a seed file; `force` overwrites plans that differ. */
const Seed = z.strictObject({
  projects: z
    .array(z.strictObject({ id: Id, name: Name.exactOptional() }))
    .refine(hasUniqueIds, 'must not contain an id twice')
    .default([]),
  plans: z.array(NewPlan).refine(hasUniqueIds, 'must not contain an id twice').default([]),
  force: z.boolean().default(false),
});

/** Sums of nanos are exact up to nine million dollars. */
const MAX_DOLLARS = 1_000_000;

const BudgetChange = z
  .strictObject(
    optional({
      max_usd: z.number().min(0.01).max(MAX_DOLLARS),
      period: z.enum(['hour', 'day', 'month', 'total']),
      /** A paused budget counts, and limits nothing. */
      paused: z.boolean(),
    }),
  )
  .refine(hasField, 'must have max_usd, period or paused');
/** A whole response, a streamed one, one that may call a tool, and what the provider's model list states. */
export const CALLS = ['whole', 'streamed', 'tool', 'list'] as const;
const TargetTest = z.strictObject({ place: z.string(), call: z.enum(CALLS) });

/** The body of a change or a run; of the others it has no fields. */
export const BODIES = {
  'projects.create': NewProject,
  'projects.set': ProjectChange,
  'webhooks.set': z.strictObject({ url: z.string().max(2_000) }),
  'plans.create': NewPlan,
  'plans.set': PlanChange,
  'keys.create': NewKeyInput,
  'keys.set': KeySettings,
  'keys.move': KeyMove,
  'keys.rotate': Rotation,
  'keys.revoke': Revocation,
  'keys.find': FindKey,
  'budgets.set': BudgetChange,
  'organisation-budgets.set': BudgetChange,
  'key-budgets.set': BudgetChange,
  'users-budgets.set': BudgetChange,
  'user-budgets.set': BudgetChange,
  'sessions-budgets.set': BudgetChange,
  'session-budgets.set': BudgetChange,
  'members.invite': NewMember,
  'members.set': MemberChange,
  'targets.test': TargetTest,
  apply: Seed,
};

/**
 * @param whole what the values are of, in the words of an error
 * @throws ApiError 400 that lists the issues with their paths; of a long list its beginning and end
 */
export const readInput = <T extends z.ZodType>(schema: T, value: unknown, whole = 'The body') => {
  const parsed = schema.safeParse(value, { error: describeIssue });
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  const param = issues[0]?.path.join('.') || undefined;
  const lines = issues.map(({ path, message }) =>
    path.length === 0 ? `${whole} ${message}` : `${path.join('.')}: ${message}`,
  );
  throw invalidRequest(`${lines.join('; ')}.`, omitUndefined({ param }));
};
