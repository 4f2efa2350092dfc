import * as z from 'zod/mini';
import { UPSTREAM_PROTOCOLS } from '../protocols/protocol-name.ts';
import { describeIssue } from '../support/describe-issue.ts';
import { invalidRequest } from '../support/errors.ts';
import { nearMatches } from './near-matches.ts';

/** Token of RFC 9110; Node throws on any other header name. */
const HeaderName = z.string().check(z.regex(/^[\w!#$%&'*+.^`|~-]+$/, 'must be a header name'));
const HeaderValue = z.string().check(z.regex(/^[\x20-\x7e]*$/, 'must be printable ASCII'));

/** An upstream deployment that serves a model. Targets are tried in the order of the list. */
export const Target = z.strictObject({
  /** Name of the provider connection, for logs, metrics and the breaker. */
  upstream: z
    .string()
    .check(
      z.regex(/^[a-z0-9][a-z0-9-]{0,39}$/, 'must be 1 to 40 lower-case letters, digits or dashes'),
    ),
  protocol: z.enum(UPSTREAM_PROTOCOLS),
  /**
   * URL before the protocol's path (`/chat/completions` or `/v1/messages`), e.g.
   * `https://api.example.com/v1`; a query string in it is kept.
   */
  baseUrl: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }),
  /** The provider's name of the model. */
  model: z.string().check(z.minLength(1)),
  /** Field of the upstream secret that holds the credential. */
  secret: z.string().check(z.minLength(1)),
  /** Header of the credential, if the provider does not use the protocol's default. */
  authHeader: z.optional(z.enum(['authorization', 'x-api-key', 'api-key'])),
  /** Extra headers, e.g. a protocol version. Never a credential. */
  headers: z.optional(z.record(HeaderName, HeaderValue)),
  maxTokensField: z.optional(z.enum(['max_tokens', 'max_completion_tokens'])),
  /** On chat: the upstream rejects (`refused`) or requires `reasoning_content` in earlier responses. */
  reasoningHistory: z.optional(z.enum(['required', 'refused'])),
  /** On chat: the upstream accepts only tool-call ids of nine letters and digits, as Mistral does. */
  toolCallIds: z.optional(z.literal('short')),
  /** On messages: the upstream rejects role `system` in `messages`. */
  systemTurns: z.optional(z.literal('leading')),
  /** Timeout of the first event in ms, for models with long thinking. */
  firstEventTimeoutMs: z.optional(z.int().check(z.positive(), z.maximum(300_000))),
});
export type Target = z.infer<typeof Target>;

/** A catalog entry: the fields of `GET /v1/models`, and the targets. */
export const Model = z.strictObject({
  id: z.string().check(z.regex(/^[^/\s]+\/[^\s]+$/, 'must look like <vendor>/<model_name>')),
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
  targets: z.array(Target).check(z.minLength(1)),
});
export type Model = z.infer<typeof Model>;

const Models = z.array(Model).check(
  z.minLength(1),
  z.refine(
    (models) => new Set(models.map(({ id }) => id)).size === models.length,
    'model ids must be unique',
  ),
);

export type Catalog = {
  /** The models a plan may route to, in catalog order. */
  modelsFor(plan: { models?: string[] | undefined }): Model[];
  find(id: string, plan: { models?: string[] | undefined }): Model | undefined;
  /** @throws ApiError 400 that names near matches and lists valid ids. */
  require(id: string, plan: { models?: string[] | undefined }): Model;
};

/** Maximum length of a caller's text in an error. */
const ECHO_LIMIT = 100;

/** Also for a model that exists but is not in the caller's plan. */
export const unknownModelText = (id: string): string =>
  `The model '${id.slice(0, ECHO_LIMIT)}' does not exist.`;

/** Maximum number of ids in an error: a plan may have hundreds. */
const LIST_LIMIT = 20;

/** Near matches first, then the valid ids, as many as fit. */
const validModelsText = (id: string, valid: string[]): string => {
  const near = nearMatches(id, valid);
  const hint = near.length > 0 ? `Did you mean ${near.join(' or ')}? ` : '';
  const more = valid.length - LIST_LIMIT;
  const rest = more > 0 ? ` and ${more} more (GET /v1/models lists all)` : '';
  return `${hint}Valid models: ${valid.slice(0, LIST_LIMIT).join(', ')}${rest}.`;
};

/** @throws Error that names the path of every invalid value in `data`. */
export const parseModels = (data: unknown): Model[] => {
  const parsed = Models.safeParse(data, { error: describeIssue });
  if (parsed.success) return parsed.data;
  throw new Error(`The catalog is not valid.\n${z.prettifyError(parsed.error)}`);
};

/** A plan without `models` may use all of them. */
export const createCatalog = (models: Model[]): Catalog => {
  const modelsFor: Catalog['modelsFor'] = ({ models: allowed }) =>
    allowed ? models.filter(({ id }) => allowed.includes(id)) : models;
  const find: Catalog['find'] = (id, plan) => modelsFor(plan).find((model) => model.id === id);
  const require: Catalog['require'] = (id, plan) => {
    const model = find(id, plan);
    if (model) return model;
    const valid = modelsFor(plan).map((entry) => entry.id);
    const text = `${unknownModelText(id)} ${validModelsText(id, valid)}`;
    throw invalidRequest(text, { code: 'model_not_found', param: 'model' });
  };
  return { modelsFor, find, require };
};
