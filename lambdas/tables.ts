/**
 * CONTRACT between the tables that lib/ declares and the code that reads them: key attributes are
 * spelled here and nowhere else. Every table has the partition key `pk` (string); those of
 * `SORTED_TABLES` also have the sort key `sk` (string).
 */
export const PARTITION_KEY = 'pk';
export const SORT_KEY = 'sk';

/** Epoch seconds; DynamoDB deletes counters' leftovers after it (nothing relies on that). */
export const TTL_ATTRIBUTE = 'expiresAtSeconds';

/** The logical tables; their physical names come from the environment (env.ts). */
export const TABLES = [
  'keys',
  'plans',
  'projects',
  'meters',
  'records',
  'history',
  'answers',
] as const;
export type TableName = (typeof TABLES)[number];

/** Tables of lists that are read in order. */
export const SORTED_TABLES: readonly TableName[] = ['records', 'history'];

/**
 * What is stored of the responses protocol: nothing (`off`), the response of a request with `store: true` (`asked`), or that
 * of each without `store: false`, which is the vendor's default (`default`). Of stages and plans.
 */
export const STATE_MODES = ['off', 'asked', 'default'] as const;

/** Default and maximum of the stage option `recordDays`. */
export const DEFAULT_RECORD_DAYS = 35;
export const MAX_RECORD_DAYS = 400;

/** Global secondary index of `keys` (both attributes are strings, all projected): operators list a project. */
export const KEYS_BY_PROJECT = {
  indexName: 'byProject',
  partitionKey: 'projectId',
  sortKey: 'keyId',
} as const;
