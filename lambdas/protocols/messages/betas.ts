import type { GenerationRequest } from '../generation.ts';
import type { HeaderMap, WireTarget } from '../protocol.ts';

export const BETA_HEADER = 'anthropic-beta';
const BETA = /^[\w.-]{1,80}$/;
/** The router's limit against oversized headers. */
const MAX_BETAS = 32;

/** The betas of a header's value, without those that cannot be one. */
export const callerBetas = (value = ''): string[] =>
  value
    .split(',')
    .map((beta) => beta.trim())
    .filter((beta) => BETA.test(beta))
    .slice(0, MAX_BETAS);

const isHeader = (name: string): boolean => name.toLowerCase() === BETA_HEADER;

const betasOf = ({ headers = {} }: WireTarget): string[] =>
  Object.entries(headers).flatMap(([name, value]) => (isHeader(name) ? callerBetas(value) : []));

const forwarded = ({ betas }: WireTarget, { betas: asked = [] }: GenerationRequest): string[] =>
  betas === 'forward' ? asked : asked.filter((beta) => betas?.includes(beta));

/** The target with the caller's betas that its profile forwards, after its own ones, each once. */
export const withCallerBetas = (target: WireTarget, request: GenerationRequest): WireTarget => {
  const { betasWithout = [] } = target;
  const added = forwarded(target, request);
  if (added.length === 0 && betasWithout.length === 0) return target;
  const others = Object.entries(target.headers ?? {}).filter(([name]) => !isHeader(name));
  const all = [...new Set([...betasOf(target), ...added])];
  const betas = all.filter((beta) => !betasWithout.includes(beta));
  const headers: HeaderMap = Object.fromEntries(others);
  return {
    ...target,
    headers: betas.length > 0 ? { ...headers, [BETA_HEADER]: betas.join(',') } : headers,
  };
};

/**
 * Whether the target's headers request a beta, by the start of its name. Without it the vendor rejects
 * the beta's fields, and agents send them to every provider.
 */
export const requestsBeta = (target: WireTarget, name: string): boolean =>
  betasOf(target).some((beta) => beta.startsWith(name));

/** Whether the target, which has the forwarded betas, lacks one that the caller asked for. */
export const losesBeta = (target: WireTarget, { betas = [] }: GenerationRequest): boolean =>
  betas.some((beta) => !betasOf(target).includes(beta));
