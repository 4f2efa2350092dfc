import type * as z from 'zod/mini';
import { anyOf } from './schema.ts';

type Issue = z.core.$ZodRawIssue;

const KINDS: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'a boolean',
  array: 'an array',
  object: 'an object',
  record: 'an object',
};

/** What a size counts; numbers have no unit. */
const UNITS: Record<string, string> = { array: 'item', string: 'character' };

const sized = (origin: string, bound: string, size: number | bigint): string => {
  const unit = UNITS[origin];
  return unit
    ? `must have ${bound} ${size} ${unit}${size === 1 ? '' : 's'}`
    : `must be ${bound} ${size}`;
};

/** `must be a string or an array`, where that is all that a union's branches ask for. */
const kindsOf = (branches: z.core.$ZodIssue[][]): string | undefined => {
  const kinds = branches.map(([fault]) =>
    fault?.code === 'invalid_type' && fault.path.length === 0 ? KINDS[fault.expected] : undefined,
  );
  const known = new Set(kinds.filter((kind) => kind !== undefined));
  return known.size > 0 && known.size === kinds.length ? [...known].join(' or ') : undefined;
};

const ofUnion = (issue: Extract<Issue, { code: 'invalid_union' }>): string => {
  if ('options' in issue && Array.isArray(issue.options)) return anyOf(issue.options);
  const kinds = kindsOf(issue.errors);
  return kinds ? `must be ${kinds}` : 'is not valid';
};

/**
 * What is wrong with a value, in words that stand after its path: `max_tokens: is required`. Zod's own are
 * about its types (`expected number, received undefined`). Undefined where a schema brings its own words.
 */
export const describeIssue = (issue: Issue): string | undefined => {
  if (issue.input === undefined && issue.code !== 'custom') return 'is required';
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${KINDS[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return anyOf(issue.values);
    case 'too_small':
      return sized(issue.origin, issue.inclusive ? 'at least' : 'more than', issue.minimum);
    case 'too_big':
      return sized(issue.origin, issue.inclusive ? 'at most' : 'less than', issue.maximum);
    case 'invalid_union':
      return ofUnion(issue);
    case 'unrecognized_keys':
      return `must not have ${issue.keys.join(', ')}`;
    case 'invalid_key':
      return 'is not a valid name';
    default:
      return undefined;
  }
};
