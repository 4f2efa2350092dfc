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

type Parameters = Record<string, string>;
/** What the last placeholder of a pattern matches: one segment, or all that follows, slashes included. */
type Last = 'segment' | 'rest';

/**
 * Returns the parts of a path that match the `{placeholders}` of a pattern, percent-decoded; undefined when the path
 * has another shape. Each matches one segment, but for the last. The rest of a pattern is plain: letters, digits, `_`,
 * `-` and slashes.
 */
export const compilePattern = (pattern: string, last: Last = 'segment') => {
  const source = (
    last === 'rest' ? pattern.replace(LAST_PLACEHOLDER, '(?<$1>[^]*[^/])') : pattern
  ).replaceAll(PLACEHOLDER, '(?<$1>[^/]+)');
  const shape = new RegExp(`^${source}$`);
  return (path: string): Parameters | undefined => {
    const found = shape.exec(path);
    if (!found) return undefined;
    const parameters: Parameters = {};
    for (const [name, text] of Object.entries(found.groups ?? {})) {
      const value = decode(text);
      if (value === undefined) return undefined;
      parameters[name] = value;
    }
    return parameters;
  };
};

/** Finds the routes that a path belongs to, each with the values of its placeholders. */
export const createPathFinder = <Route extends { pattern: string }>(
  routes: readonly Route[],
  last?: Last,
) => {
  const known = routes.map((route) => ({ route, match: compilePattern(route.pattern, last) }));
  return (path: string): { route: Route; parameters: Parameters }[] =>
    known.flatMap(({ route, match }) => {
      const parameters = match(path);
      return parameters ? [{ route, parameters }] : [];
    });
};

/** 405; `allow` lists the methods of the path. */
export const methodNotAllowed = (allow: string): ApiError =>
  invalidRequest(`Method not allowed. Allowed: ${allow}.`, {
    status: 405,
    headers: { allow },
  });
