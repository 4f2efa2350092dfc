import * as z from 'zod/mini';
import { describeIssue } from '../support/describe-issue.ts';
import { invalidRequest } from '../support/errors.ts';

/** An optional field; `null` reads as absent. */
export const optional = <T extends z.ZodMiniType>(schema: T) =>
  z.pipe(
    z.nullish(schema),
    z.transform((value): z.output<T> | undefined => value ?? undefined),
  );

/** An empty list reads as absent: vendors reject it if they require an entry. */
export const listOf = <T>(list: T[] | undefined): T[] | undefined =>
  list && list.length > 0 ? list : undefined;

/**
 * A list that is parsed up to its first invalid item: an error names one, and 100,000 invalid items
 * took 1.7 s. `items` may limit the length.
 */
export const each = <T extends z.ZodMiniType>(item: T, items = z.array(z.unknown())) =>
  z.pipe(
    items,
    z.transform((values, context): z.output<T>[] => {
      const output: z.output<T>[] = [];
      for (const [index, value] of values.entries()) {
        const parsed = item.safeParse(value, { error: describeIssue });
        if (!parsed.success) {
          for (const issue of parsed.error.issues) {
            const path = [index, ...issue.path];
            // Zod types raised issues apart from issues to raise; they differ only in these fields.
            context.issues.push({ ...issue, path, input: value } as z.core.$ZodRawIssue);
          }
          return z.NEVER;
        }
        output.push(parsed.data);
      }
      return output;
    }),
  );

/**
 * An object of a type that is not in `listed`, kept whole: the last branch of a union whose other
 * branches are the listed types. In the output, `type: 'other'` distinguishes it.
 */
export const ofOtherType = (listed: string[], error: string) =>
  z.pipe(
    z.looseObject({
      type: z.string().check(z.refine((type) => !listed.includes(type), { error, abort: true })),
    }),
    z.transform((value) => ({ type: 'other' as const, value })),
  );

/** Any JSON object. */
export const JsonObject = z.record(z.string(), z.unknown());
export type JsonObject = z.infer<typeof JsonObject>;

/** `messages.2.content`: the path as one string. */
const pathOf = (path: PropertyKey[]): string => path.map(String).join('.');

type Issue = { code?: string | undefined; path: PropertyKey[]; message: string };

/** Members that select a branch of a union. */
const DISCRIMINATORS = ['type', 'role'];

const isOtherBranch = (issues: z.core.$ZodIssue[]): boolean =>
  issues.some(({ path }) => path.length === 1 && DISCRIMINATORS.includes(String(path[0])));

/** An issue inside a value is more specific than one about its type, the deepest one most. */
const weight = ({ code, path }: Issue): number =>
  2 * path.length + (code === 'invalid_type' ? 0 : 1);

const heaviest = (issues: Issue[]): Issue | undefined =>
  issues.toSorted((a, b) => weight(b) - weight(a))[0];

/** Of a union: the issue of the branch that the caller's `type` selects, else the deepest one. */
const decisive = (issue: z.core.$ZodIssue): Issue => {
  if (issue.code !== 'invalid_union') return issue;
  const selected = issue.errors.filter((branch) => !isOtherBranch(branch));
  const found =
    heaviest(selected.flat().map(decisive)) ?? heaviest(issue.errors.flat().map(decisive));
  if (!found || weight(found) === 0) return issue;
  return { ...found, path: [...issue.path, ...found.path] };
};

/** Checks a body against its wire schema. @throws ApiError 400 that names the first invalid path. */
export const parseWire = <T extends z.ZodMiniType>(schema: T, body: unknown): z.output<T> => {
  const parsed = schema.safeParse(body, { error: describeIssue });
  if (parsed.success) return parsed.data;
  const [first] = parsed.error.issues;
  const { path, message } = first ? decisive(first) : { path: [], message: 'is not valid' };
  if (path.length === 0) throw invalidRequest(`The body ${message}.`);
  const param = pathOf(path);
  throw invalidRequest(`${param}: ${message}.`, { param });
};
