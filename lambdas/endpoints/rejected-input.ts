import { asRecord } from '../protocols/bytes/json.ts';
import { fieldOf } from '../protocols/rejections/error-body.ts';
import { UpstreamError } from '../protocols/rejections/upstream-error.ts';
import { ApiError, invalidRequest } from '../support/errors.ts';

/** Statuses that may be about the request; others concern the router's account, or the provider. */
const ABOUT_THE_REQUEST = [400, 403, 404, 422];

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

const namesOf = (field: string): string[] => [
  field,
  ...SAME_FIELD.filter((names) => names.includes(field)).flat(),
];

/** A path as callers may see it: names and indices. */
const PATH = /^[\w.[\]-]{1,100}$/;

/** The caller's parameter that a path of the upstream's error is about; undefined if it sent none. */
const parameterAt = (path: string, sent: Record<string, unknown>): string | undefined => {
  const field = fieldOf(path);
  const name = namesOf(field).find((each) => Object.hasOwn(sent, each) && sent[each] !== null);
  return name === field && PATH.test(path) ? path : name;
};

const messageOf = (param: string, reason: string | undefined): string =>
  reason === undefined
    ? `${param}: value not accepted by the model's provider.`
    : `The model's provider rejected the request: ${reason}`;

/**
 * Maps an upstream's rejection of what the caller sent, e.g. an unsupported temperature, to a 400 that names it
 * and has the provider's cleaned reason; returns any other error unchanged. A parameter that only the router
 * wrote is not the caller's to fix.
 */
export const mapRejectedInput = (error: unknown, body: unknown): unknown => {
  const cause = error instanceof ApiError ? error.cause : error;
  if (!(cause instanceof UpstreamError) || cause.kind !== 'status') return error;
  if (!ABOUT_THE_REQUEST.includes(cause.status ?? 0)) return error;
  const sent = asRecord(body) ?? {};
  const paths = cause.isAboutInput ? [...cause.rejectedPaths, 'messages'] : cause.rejectedPaths;
  const [param] = paths.flatMap((path) => parameterAt(path, sent) ?? []);
  if (param === undefined) return error;
  return invalidRequest(messageOf(param, cause.reason), { param, cause });
};
