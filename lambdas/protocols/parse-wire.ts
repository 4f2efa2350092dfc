import * as z from 'zod';
import { describeIssue } from '../support/describe-issue.ts';
import { invalidRequest } from '../support/errors.ts';

/** Both families send `null` for "not given"; inside there is only absence. */
export const optional = <T extends z.ZodType>(schema: T) =>
  schema.nullish().transform((value): z.output<T> | undefined => value ?? undefined);

/** An empty list is an absent one; vendors refuse it where they want one entry or more. */
export const listOf = <T>(list: T[] | undefined): T[] | undefined =>
  list && list.length > 0 ? list : undefined;

/**
 * A list that is read up to its first fault: one is shown, and to find all of 100,000 took 1.7 s.
 * `items` may bound how many there are.
 */
export const each = <T extends z.ZodType>(item: T, items = z.array(z.unknown())) =>
  items.transform((values, context): z.output<T>[] => {
    const read: z.output<T>[] = [];
    for (const [index, value] of values.entries()) {
      const parsed = item.safeParse(value, { error: describeIssue });
      if (!parsed.success) {
        for (const issue of parsed.error.issues) {
          const path = [index, ...issue.path];
          // Zod types a finished issue and one to be raised apart; what is added is all they differ in.
          context.issues.push({ ...issue, path, input: value } as z.core.$ZodRawIssue);
        }
        return z.NEVER;
      }
      read.push(parsed.data);
    }
    return read;
  });

/**
 * An object of a type that is not among `known`, kept whole: the last branch of a union whose other
 * branches are the known types. `type: 'other'` is what tells it from them once it is read.
 */
export const ofOtherType = (known: string[], error: string) =>
  z
    .looseObject({
      type: z.string().refine((type) => !known.includes(type), { error, abort: true }),
    })
    .transform((value) => ({ type: 'other' as const, value }));

/** Any JSON object. */
export const JsonObject = z.record(z.string(), z.unknown());
export type JsonObject = z.infer<typeof JsonObject>;

/** `messages[2].content` rather than an array of segments, as both vendors write it. */
const pathOf = (path: PropertyKey[]): string => path.map(String).join('.');

type Fault = { code?: string | undefined; path: PropertyKey[]; message: string };

/** Members that say which branch of a union the caller meant. */
const NAMING = ['type', 'role'];

const isMisnamed = (issues: z.core.$ZodIssue[]): boolean =>
  issues.some(({ path }) => path.length === 1 && NAMING.includes(String(path[0])));

/** A fault inside a value says more than one about its type, and the deepest one most. */
const weight = ({ code, path }: Fault): number =>
  2 * path.length + (code === 'invalid_type' ? 0 : 1);

const heaviest = (faults: Fault[]): Fault | undefined =>
  faults.toSorted((a, b) => weight(b) - weight(a))[0];

/** Of a union, the branch that the caller's own `type` chose; failing that, the one that got furthest. */
const decisive = (issue: z.core.$ZodIssue): Fault => {
  if (issue.code !== 'invalid_union') return issue;
  const meant = issue.errors.filter((branch) => !isMisnamed(branch));
  const fault = heaviest(meant.flat().map(decisive)) ?? heaviest(issue.errors.flat().map(decisive));
  if (!fault || weight(fault) === 0) return issue;
  return { ...fault, path: [...issue.path, ...fault.path] };
};

/** Checks a body against its wire schema. @throws ApiError 400 that names the first fault's path. */
export const parseWire = <T extends z.ZodType>(schema: T, body: unknown): z.output<T> => {
  const parsed = schema.safeParse(body, { error: describeIssue });
  if (parsed.success) return parsed.data;
  const [first] = parsed.error.issues;
  const { path, message } = first ? decisive(first) : { path: [], message: 'is not valid' };
  if (path.length === 0) throw invalidRequest(`The body ${message}.`);
  const param = pathOf(path);
  throw invalidRequest(`${param}: ${message}.`, { param });
};
