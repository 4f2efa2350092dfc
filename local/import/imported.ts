import type { Model } from '../../lambdas/catalog/catalog.ts';

/** A value of the file that is left out, or that the command had to assume, and why. */
export type Note = { place: string; reason: string };

/** What `admin apply` takes: projects and plans as the admin API does, keys and budgets by their names. */
export type Plans = {
  projects: { id: string; name?: string }[];
  plans: {
    id: string;
    rpm: number;
    quota: number;
    period: 'month';
    concurrency?: number;
    models?: string[];
  }[];
  keys: {
    project: string;
    plan: string;
    name: string;
    rpm?: number;
    concurrency?: number;
    models?: string[];
    expires_at?: string;
  }[];
  budgets: {
    /** Without one the budget is that of the organisation. */
    project?: string;
    /** Name of the key whose budget it is. */
    key?: string;
    /** It is that of each user of the project. */
    users?: true;
    max_usd: number;
    period: Period;
  }[];
};

export type Period = 'hour' | 'day' | 'month' | 'total';

/** What an import writes and prints. */
export type Imported = {
  catalog: Model[];
  secrets: Record<string, string>;
  /** Names of credentials that the file has no value of. */
  missing: string[];
  plans: Plans;
  noCounterpart: Note[];
  assumed: Note[];
};

/** The form of a model's id. */
export const ID = /^[^/\s'"`$\\\p{C}]+\/[^\s'"`$\\\p{C}]+$/u;

/** Where the file has no limit: more than any caller sends. */
export const UNLIMITED = { rpm: 1_000_000, quota: 1_000_000_000, period: 'month' } as const;

/** One project, plan and key, for a file that names none. */
export const onePlan = (id: string): Plans => ({
  projects: [{ id }],
  plans: [{ id, ...UNLIMITED }],
  keys: [{ project: id, plan: id, name: id }],
  budgets: [],
});

/** Makes a name unique among those given before. */
export const createUnique = (maxLength: number) => {
  const given = new Set<string>();
  return (name: string): string => {
    let unique = name.slice(0, maxLength);
    for (let number = 2; given.has(unique); number++) {
      unique = `${name.slice(0, maxLength - 4)}-${number}`;
    }
    given.add(unique);
    return unique;
  };
};
