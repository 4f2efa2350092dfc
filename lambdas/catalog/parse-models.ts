import * as z from 'zod/mini';
import { readBedrockAddress } from '../bedrock.ts';
import { UPSTREAM_PROTOCOLS } from '../protocols/protocol-name.ts';
import { describeIssue } from '../support/describe-issue.ts';
import { FAMILIES, type Family, FRAMING_MEMBERS, type Framing } from './families.ts';
import { DIALECT, TargetProfile } from './profiles.ts';
import { quotaIssues, TargetQuota } from './quota.ts';
import { retirementIssues } from './retirement.ts';
import { Day, TargetPrices } from './target-prices.ts';

/** Token of RFC 9110; Node throws on any other header name. */
const HeaderName = z.string().check(z.regex(/^[\w!#$%&'*+.^`|~-]+$/, 'must be a header name'));
const HeaderValue = z.string().check(z.regex(/^[\x20-\x7e]*$/, 'must be printable ASCII'));

const amount = z.number().check(z.nonnegative(), z.maximum(10_000));
const TargetFraming = z.strictObject(
  Object.fromEntries(FRAMING_MEMBERS.map((member) => [member, amount])) as Record<
    keyof Framing,
    typeof amount
  >,
);
const FAMILY_NAMES = Object.keys(FAMILIES) as [Family, ...Family[]];

/** How the target's vendor counts, where its model's name does not tell. */
const TargetCounting = z.strictObject({
  family: z.optional(z.enum(FAMILY_NAMES)),
  /** Replaces the family's, where the vendor's template differs. */
  framing: z.optional(TargetFraming),
  /** Of catalogs up to 0.2: a file of the model's vocabulary. It has no effect, and `doctor` names it. */
  tokenizer: z.optional(z.string()),
});

const LABEL = /^[\w.-]{1,80}$/;
const LABEL_FORM = 'must be 1 to 80 letters, digits, dots, dashes or underscores';
const MAX_TIER = 100;
const MAX_WEIGHT = 1_000;

/** They are sent decoded. */
const PROTOCOL_PATH = /\/(?:chat\/completions|v1\/messages|v1\/responses)\/?$/;

/** Whether an address is not that of an operation, which clients are configured with more often. */
const isBase = (baseUrl: string): boolean =>
  !URL.canParse(baseUrl) || !PROTOCOL_PATH.test(new URL(baseUrl).pathname);

const hasReadableUser = (baseUrl: string): boolean => {
  if (!URL.canParse(baseUrl)) return true;
  const { username, password } = new URL(baseUrl);
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
};

const TargetFields = z.strictObject({
  /** Name of the provider connection, for logs, metrics and the breaker. */
  upstream: z
    .string()
    .check(
      z.regex(/^[a-z0-9][a-z0-9-]{0,39}$/, 'must be 1 to 40 lower-case letters, digits or dashes'),
    ),
  protocol: z.enum(UPSTREAM_PROTOCOLS),
  /**
   * URL before the protocol's path (`/chat/completions`, `/v1/messages` or `/responses`), e.g.
   * `https://api.example.com/v1`; a query string in it is kept.
   */
  baseUrl: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .check(z.refine(hasReadableUser, 'must have a user name and password in percent-encoding'))
    .check(z.refine(isBase, 'must end before the path of the protocol, which the router adds')),
  /** The provider's name of the model. */
  model: z.string().check(z.minLength(1)),
  /** Field of the upstream secret that holds the credential; absent if the role signs. */
  secret: z.optional(z.string().check(z.minLength(1))),
  /** Calls of Amazon Bedrock are signed with the credentials of the function's role. */
  auth: z.optional(z.literal('iam')),
  /** Header of the credential, if the provider does not use the protocol's default. */
  authHeader: z.optional(z.enum(['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'])),
  /** Extra headers, e.g. a protocol version. Never a credential. */
  headers: z.optional(z.record(HeaderName, HeaderValue)),
  /** Header by which the provider recognizes a repeat of a call, e.g. `Idempotency-Key`. */
  idempotencyHeader: z.optional(HeaderName),
  ...DIALECT,
  /** What the model accepts: the name of a preset, or its members, with or without a preset. */
  profile: z.optional(TargetProfile),
  /** Timeout of the first event in ms, for models with long thinking. */
  firstEventTimeoutMs: z.optional(z.int().check(z.positive(), z.maximum(300_000))),
  /** What the provider bills; by default the three public prices of the model. */
  prices: z.optional(TargetPrices),
  /** How the provider counts tokens; by default as the model's name says. */
  counting: z.optional(TargetCounting),
  /** Whose prompt cache it fills: the provider's account; by default that of the upstream and the secret. */
  account: z.optional(z.string().check(z.regex(LABEL, LABEL_FORM))),
  quota: z.optional(TargetQuota),
  /** Where it processes a request, and for how long it keeps one: words of the operator, which plans may require. */
  region: z.optional(z.string().check(z.regex(LABEL, LABEL_FORM))),
  retention: z.optional(z.string().check(z.regex(LABEL, LABEL_FORM))),
  /** Targets of a lower tier are tried first; those of one tier share the sessions. By default each has its own. */
  tier: z.optional(z.int().check(z.nonnegative(), z.maximum(MAX_TIER))),
  /** Its share of the sessions of its tier, in proportion to the others'; 1 by default. */
  weight: z.optional(
    z
      .number()
      .check(
        z.positive('must be more than 0: a target without requests is removed'),
        z.maximum(MAX_WEIGHT),
      ),
  ),
});

const NEEDS_SECRET =
  'is required: the field of the upstream secret with the credential; only Amazon Bedrock can be called without one, with "auth": "iam"';
const SIGNED = 'must be removed: with "auth": "iam" calls are signed with the function\'s role';
const NOT_BEDROCK =
  'must be https://bedrock-runtime.REGION.amazonaws.com/… or https://bedrock-mantle.REGION.api.aws/…, without a query: "auth": "iam" is for Amazon Bedrock';

/** What is wrong with how the target is authenticated, by the member at fault. */
const authIssues = (target: z.infer<typeof TargetFields>): Fault[] => {
  const { auth, secret, authHeader, baseUrl } = target;
  if (auth === undefined) return secret === undefined ? [['secret', NEEDS_SECRET]] : [];
  const isBedrock = readBedrockAddress(baseUrl) !== undefined && new URL(baseUrl).search === '';
  const faults: Fault[] = [];
  if (secret !== undefined) faults.push(['secret', SIGNED]);
  if (authHeader !== undefined) faults.push(['authHeader', SIGNED]);
  if (!isBedrock) faults.push(['baseUrl', NOT_BEDROCK]);
  return faults;
};

/** A fault that no single member shows: its place, and what is wrong there. */
type Fault = [...path: (string | number)[], message: string];

const noFaults =
  <Value>(faultsOf: (value: Value) => Fault[]): z.core.CheckFn<Value> =>
  ({ value, issues }) => {
    for (const fault of faultsOf(value)) {
      const [message = '', ...path] = fault.toReversed();
      issues.push({
        ...{ code: 'custom', input: value, path: path.toReversed(), message: `${message}` },
      });
    }
  };

/** Names of models whose templates move later system turns before the conversation (DeepSeek) or leave them out. */
const LEADING_TEMPLATES = /deepseek|glm|gpt-?oss|minimax/i;

/** With what the name of its model says where the target and its profile state nothing. */
const withNamed = (target: z.infer<typeof TargetFields>) => {
  const { protocol, model, profile, systemTurns = profile?.systemTurns } = target;
  const isLeading = systemTurns === undefined && LEADING_TEMPLATES.test(model);
  // No other's model leaves the line out of its prompt, and it differs in each request.
  const isSpoken = protocol === 'messages' && !/claude/i.test(model);
  return {
    ...target,
    ...(isLeading && { systemTurns: 'leading' as const }),
    ...(isSpoken && { profile: { billingLine: false, ...profile } }),
  };
};

/** An upstream deployment that serves a model. Targets are tried in the order of the list. */
export const Target = z.pipe(TargetFields.check(noFaults(authIssues)), z.transform(withNamed));
export type Target = z.infer<typeof Target>;

const MIXED_TIERS =
  'is required on each target of a model once one has it: the order of the list is a tier for each';
const LONE_WEIGHT = 'needs a tier: it is a share of the sessions of one';

/** What is wrong with the order of the targets. */
const tierIssues = (targets: Target[]): Fault[] => {
  const isTiered = targets.some(({ tier }) => tier !== undefined);
  return targets.flatMap(({ tier, weight }, index) => {
    if (tier !== undefined) return [];
    if (isTiered) return [[index, 'tier', MIXED_TIERS]];
    return weight === undefined ? [] : [[index, 'weight', LONE_WEIGHT]];
  });
};

const LONE_PREFERENCE =
  'needs two targets of one tier: it is their order, and without tiers the order is that of the list';

const preferIssues = (models: Pick<Model, 'prefer' | 'targets'>[]): Fault[] =>
  models.flatMap(({ prefer, targets }, index): Fault[] => {
    const tiers = targets.flatMap(({ tier }) => tier ?? []);
    const isShared = new Set(tiers).size < tiers.length;
    return prefer && !isShared ? [[index, 'prefer', LONE_PREFERENCE]] : [];
  });

/** Names are also in lines that users paste into a shell. */
const ID = /^[^/\s'"`$\\\p{Cc}\p{Cf}]+\/[^\s'"`$\\\p{Cc}\p{Cf}]+$/u;
const ALIAS = /^[^\s'"`$\\\p{Cc}\p{Cf}]{1,100}$/u;
const NAME_FORM = 'without white space, quotes, $, backticks, backslashes and control characters';

/** A catalog entry: the fields of `GET /v1/models`, and the targets. */
export const Model = z.strictObject({
  id: z.string().check(z.regex(ID, `must look like <vendor>/<model_name>, ${NAME_FORM}`)),
  /** Other names that callers may use in `model`: of clients that know only their vendor's names. */
  aliases: z.optional(
    z.array(z.string().check(z.regex(ALIAS, `must be 1 to 100 characters ${NAME_FORM}`))),
  ),
  display_name: z.string().check(z.minLength(1)),
  /** Unix seconds. */
  created: z.int().check(z.nonnegative()),
  owned_by: z.string().check(z.minLength(1)),
  context_length: z.int().check(z.positive()),
  max_output_tokens: z.int().check(z.positive()),
  streaming: z.boolean(),
  tools: z.boolean(),
  vision: z.boolean(),
  input_price_per_m: z.number().check(z.nonnegative()),
  output_price_per_m: z.number().check(z.nonnegative()),
  /** Of input tokens that the provider read from its cache; the input price if absent. */
  cached_input_price_per_m: z.optional(z.number().check(z.nonnegative())),
  /** From this day on, in UTC, it is not served. */
  retires: z.optional(Day),
  /** Since when callers should move, if the vendor has published it. */
  deprecated: z.optional(Day),
  /** Id of the model to use instead. */
  successor: z.optional(z.string().check(z.minLength(1))),
  /** Requests for the retired model are answered by its successor; by default they get 400. */
  afterwards: z.optional(z.literal('successor')),
  /** Which targets of a tier come first: with the soonest first content, or the lowest price; by default the session's. */
  prefer: z.optional(z.enum(['speed', 'price'])),
  targets: z.array(Target).check(z.minLength(1), noFaults(tierIssues)),
});
export type Model = z.infer<typeof Model>;

/** Names that are one of an earlier model, or of an earlier place. */
const nameIssues = (models: Pick<Model, 'id' | 'aliases'>[]): Fault[] => {
  const names = [
    ...models.map(({ id }, index) => [id, index, 'id'] as const),
    ...models.flatMap(({ aliases = [] }, index) =>
      aliases.map((name, at) => [name, index, 'aliases', at] as const),
    ),
  ];
  const owners = new Set<string>();
  return names.flatMap(([name, ...path]): Fault[] => {
    const message = `'${name}' is already the name of a model: ids and aliases must be unique`;
    const isKnown = owners.has(name);
    owners.add(name);
    return isKnown ? [[...path, message]] : [];
  });
};

const RULES = [nameIssues, retirementIssues, preferIssues, quotaIssues];
const Models = z.array(Model).check(
  z.minLength(1),
  noFaults((models) => RULES.flatMap((issuesOf): Fault[] => issuesOf(models))),
);

/** What is wrong inside a value that has the kind of one branch of a union, instead of a list of all kinds. */
const insideUnions = (issue: z.core.$ZodIssue): z.core.$ZodIssue[] => {
  if (issue.code !== 'invalid_union') return [issue];
  const inside = issue.errors.find((issues) =>
    issues.every(({ code, path }) => path.length > 0 || code === 'unrecognized_keys'),
  );
  if (!inside || inside.length === 0) return [issue];
  return inside.flatMap((one) => insideUnions({ ...one, path: [...issue.path, ...one.path] }));
};

/** @throws Error that names the path of every invalid value in `data`. */
export const parseModels = (data: unknown): Model[] => {
  const parsed = Models.safeParse(data, { error: describeIssue });
  if (parsed.success) return parsed.data;
  throw new Error(
    `The catalog is not valid.\n${z.prettifyError({ issues: parsed.error.issues.flatMap(insideUnions) })}`,
  );
};
