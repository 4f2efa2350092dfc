import { type ApiError, invalidRequest } from '../support/errors.ts';

const PLACEHOLDER = /\{(\w+)\}/g;
const LAST_PLACEHOLDER = /\{(\w+)\}$/;

const decode = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
};

/**
 * What the `{placeholders}` of a pattern stood for, percent-decoded; undefined when `path` has another shape.
 * Each takes one segment. With `rest`, one at the end takes all that follows, slashes included. The rest of a
 * pattern is plain: letters, digits, `_`, `-` and slashes.
 */
export const matchPattern = (
  pattern: string,
  path: string,
  last: 'segment' | 'rest' = 'segment',
): Record<string, string> | undefined => {
  const source = (
    last === 'rest' ? pattern.replace(LAST_PLACEHOLDER, '(?<$1>[^]*[^/])') : pattern
  ).replaceAll(PLACEHOLDER, '(?<$1>[^/]+)');
  const found = new RegExp(`^${source}$`).exec(path);
  if (!found) return undefined;
  const parameters: Record<string, string> = {};
  for (const [name, text] of Object.entries(found.groups ?? {})) {
    const value = decode(text);
    if (value === undefined) return undefined;
    parameters[name] = value;
  }
  return parameters;
};

/** 405; `allow` lists the methods that the path takes. */
export const methodNotAllowed = (allow: string): ApiError =>
  invalidRequest(`This path does not take that method; it takes ${allow}.`, {
    status: 405,
    headers: { allow },
  });
