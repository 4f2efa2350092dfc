import { asRecord } from '../protocols/bytes/json.ts';
import { fieldOf, UpstreamError } from '../protocols/rejections/upstream-error.ts';
import { ApiError, invalidRequest } from '../support/errors.ts';
import { REJECTED, rejectedOfRouter } from './classify-failure.ts';

/** Statuses that may be about the request; others concern the router's account, or the provider. */
const ABOUT_THE_REQUEST = [400, 403, 404, 422];
/** Those that are, unless they name a field that only the router wrote. */
const REJECTIONS = [400, 422];

/** Fields that the router writes for each upstream in its own form. */
const OWN_FIELDS = ['model', 'stream', 'stream_options'];

/** Names of one thing in the protocols and their dialects: a caller sent the one, the upstream names another. */
const SAME_FIELD = [
  ['max_tokens', 'max_completion_tokens', 'max_output_tokens'],
  ['messages', 'system', 'prompt', 'input', 'contents'],
  ['response_format', 'output_config', 'output_format'],
  ['reasoning_effort', 'thinking', 'output_config', 'reasoning'],
  ['stop', 'stop_sequences'],
  ['tools', 'functions'],
  ['tool_choice', 'function_call'],
];

/** Further fields of the protocols: other words in a provider's text are values. */
const OTHER_FIELDS = [
  ...['temperature', 'top_p', 'top_k', 'frequency_penalty', 'presence_penalty', 'logit_bias'],
  ...['logprobs', 'top_logprobs', 'seed', 'n', 'user', 'metadata', 'store', 'service_tier'],
  ...['parallel_tool_calls', 'anthropic_version', 'anthropic_beta'],
];
const isField = (path: string): boolean =>
  [...OWN_FIELDS, ...OTHER_FIELDS, ...SAME_FIELD.flat()].includes(fieldOf(path));

const namesOf = (field: string): string[] => [
  field,
  ...SAME_FIELD.filter((names) => names.includes(field)).flat(),
];

/** A path as callers may see it: names and indices. */
const PATH = /^[\w.[\]-]{1,100}$/;

/** The caller's parameter that a path of the upstream's error is about; undefined if it sent none. */
const parameterAt = (path: string, sent: Record<string, unknown>): string | undefined => {
  const field = fieldOf(path);
  if (OWN_FIELDS.includes(field)) return undefined;
  const name = namesOf(field).find((each) => Object.hasOwn(sent, each) && sent[each] !== null);
  return name === field && PATH.test(path) ? path : name;
};

const messageOf = (param: string, reason: string | undefined): string =>
  reason === undefined
    ? `${param}: value not accepted by the model's provider.`
    : `${REJECTED}: ${reason}`;

/** The caller's parameter that an upstream's rejection is about, as the rejection names it; undefined for any other. */
export const rejectedParameter = (cause: UpstreamError, body: unknown): string | undefined => {
  if (cause.kind !== 'status' || !ABOUT_THE_REQUEST.includes(cause.status ?? 0)) return undefined;
  const sent = asRecord(body) ?? {};
  const paths = cause.isAboutInput ? [...cause.rejectedPaths, 'messages'] : cause.rejectedPaths;
  return paths.flatMap((path) => parameterAt(path, sent) ?? [])[0];
};

/** Whether a rejection names fields and the caller sent none of them. */
const isOfRouter = ({ kind, status = 0, rejectedPaths }: UpstreamError): boolean =>
  kind === 'status' && REJECTIONS.includes(status) && rejectedPaths.some(isField);

/**
 * Maps an upstream's rejection of what the caller sent, e.g. an unsupported temperature, to a 400 that names it, and one of
 * what only the router wrote to a 502: that is not the caller's to fix. Returns any other error unchanged.
 */
export const mapRejectedInput = (error: unknown, body: unknown): unknown => {
  const cause = error instanceof ApiError ? error.cause : error;
  if (!(cause instanceof UpstreamError)) return error;
  const param = rejectedParameter(cause, body);
  if (param !== undefined) return invalidRequest(messageOf(param, cause.reason), { param, cause });
  return isOfRouter(cause) ? rejectedOfRouter(cause) : error;
};
