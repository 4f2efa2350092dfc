import * as z from 'zod';
import { UPSTREAM_PROTOCOLS } from '../protocols/protocol-name.ts';
import { invalidRequest } from '../support/errors.ts';

/** As RFC 9110 has them; Node refuses to send a request with any other. */
const HeaderName = z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/);
const HeaderValue = z.string().regex(/^[\x20-\x7e]*$/, 'must be printable ASCII');

/** An upstream deployment that serves a model; tried in the order of the list. */
export const Target = z.strictObject({
  /** Name of the provider connection, for logs, metrics and the breaker. */
  upstream: z.string().regex(/^[a-z0-9][a-z0-9-]{0,39}$/),
  protocol: z.enum(UPSTREAM_PROTOCOLS),
  /**
   * What stands before `/chat/completions` or `/v1/messages`, e.g. `https://api.example.com/v1`; its query, if any,
   * is sent along.
   */
  baseUrl: z.url({ protocol: /^https?$/ }),
  /** The provider's own name of the model. */
  model: z.string().min(1),
  /** Field of the upstream secret that holds the credential. */
  secret: z.string().min(1),
  /** The header that carries it, where a provider departs from its protocol's own. */
  authHeader: z.enum(['authorization', 'x-api-key', 'api-key']).optional(),
  /** Extra headers, e.g. a protocol version. Never a credential. */
  headers: z.record(HeaderName, HeaderValue).optional(),
  maxTokensField: z.enum(['max_tokens', 'max_completion_tokens']).optional(),
  /** On chat: the upstream refuses `reasoning_content` in earlier answers, or insists on it. */
  reasoningHistory: z.enum(['required', 'refused']).optional(),
  /** On chat: the upstream takes only tool-call ids of nine letters and digits, as Mistral does. */
  toolCallIds: z.literal('short').optional(),
  /** On messages: the upstream refuses the role `system` among the messages. */
  systemTurns: z.literal('leading').optional(),
  /** Wait for the first event, when this model is known to think long. Milliseconds. */
  firstEventTimeoutMs: z.int().positive().max(300_000).optional(),
});
export type Target = z.infer<typeof Target>;

/** A catalog entry: the fields that `GET /v1/models` shows, and where to send its requests. */
export const Model = z.strictObject({
  id: z.string().regex(/^[^/\s]+\/[^\s]+$/, 'must look like <vendor>/<model_name>'),
  display_name: z.string().min(1),
  /** Unix seconds. */
  created: z.int().nonnegative(),
  owned_by: z.string().min(1),
  context_length: z.int().positive(),
  max_output_tokens: z.int().positive(),
  streaming: z.boolean(),
  tools: z.boolean(),
  vision: z.boolean(),
  input_price_per_m: z.number().nonnegative(),
  output_price_per_m: z.number().nonnegative(),
  targets: z.array(Target).min(1),
});
export type Model = z.infer<typeof Model>;

const Models = z
  .array(Model)
  .min(1)
  .refine((models) => new Set(models.map(({ id }) => id)).size === models.length, {
    message: 'model ids must be unique',
  });

export type Catalog = {
  /** The models a plan may route to, in catalog order. */
  modelsFor(plan: { models?: string[] | undefined }): Model[];
  find(id: string, plan: { models?: string[] | undefined }): Model | undefined;
  /** @throws ApiError 400 that lists the valid ids. */
  require(id: string, plan: { models?: string[] | undefined }): Model;
};

/** Longest part of a caller's text that an error repeats. */
const ECHO_LIMIT = 100;

/** Of a model that is not there, or not for this plan. */
export const unknownModelText = (id: string): string =>
  `The model '${id.slice(0, ECHO_LIMIT)}' does not exist.`;

/** @throws Error naming the path of every fault in `data`. */
export const parseModels = (data: unknown): Model[] => {
  const parsed = Models.safeParse(data);
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
    throw invalidRequest(`${unknownModelText(id)} Valid models: ${valid.join(', ')}.`, {
      code: 'model_not_found',
      param: 'model',
    });
  };
  return { modelsFor, find, require };
};
