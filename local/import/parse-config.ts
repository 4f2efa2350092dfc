import { describeIssue } from '../../lambdas/support/describe-issue.ts';
import { type Env, withVariables } from './environment.ts';
import { Facts } from './facts.ts';
import type { Note } from './imported.ts';
import { Config } from './litellm-config.ts';
import { parseSource, placeOf, type Source } from './read-source.ts';

/** Members of a deployment without which it is called as well. */
const OPTIONAL = new Set<PropertyKey>([
  ...Object.keys(Facts.shape),
  ...['rpm', 'weight', 'order', 'stream_timeout'],
]);

/** The place to leave out for an issue; undefined if other values depend on it. */
const optionalPlace = (path: PropertyKey[]): PropertyKey[] | undefined => {
  const [section, member, part = '', name = ''] = path;
  if (/^(?:router|litellm)_settings$/.test(String(section)) && member !== undefined) {
    return path.slice(0, typeof part === 'string' && part !== '' ? 3 : 2);
  }
  if (section !== 'model_list') return undefined;
  if (OPTIONAL.has(part)) return path.slice(0, 3);
  const isOptional = name !== '' && (part === 'model_info' || OPTIONAL.has(name));
  return isOptional ? path.slice(0, 4) : undefined;
};

const leaveOut = (value: unknown, path: PropertyKey[]): void => {
  const parent = path
    .slice(0, -1)
    .reduce((at, step) => (at as Record<PropertyKey, unknown> | undefined)?.[step], value);
  delete (parent as Record<PropertyKey, unknown> | undefined)?.[path.at(-1) ?? ''];
};

/**
 * A configuration with the values of its variables, and a note for each value of another form that is left out.
 * @throws UsageError with a line for each that cannot be
 */
export const parseConfig = (source: Source, env: Env): { config: Config; notes: Note[] } => {
  const value = withVariables(source.value, env);
  const issues = Config.safeParse(value, { error: describeIssue }).error?.issues ?? [];
  const places = new Map<string, Note>();
  for (const { path, message } of issues) {
    const left = optionalPlace(path);
    if (!left) continue;
    leaveOut(value, left);
    const place = placeOf(left);
    places.set(place, { place, reason: `${message}: it is left out` });
  }
  return { config: parseSource({ ...source, value }, Config), notes: [...places.values()] };
};
