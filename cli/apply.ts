import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import { type AdminClient, allPages, requestFor } from './admin-client.ts';
import { messageOf, usageError } from './cli-error.ts';
import type { Command } from './command.ts';
import type { Row } from './format.ts';

const Key = z.looseObject({ project: z.string(), plan: z.string(), name: z.string() });
const Budget = z.strictObject({
  project: z.string().optional(),
  /** Name of a key of the project. */
  key: z.string().optional(),
  users: z.literal(true).optional(),
  max_usd: z.number(),
  period: z.string(),
});
type Budget = z.infer<typeof Budget>;

/** Projects and plans are checked by the admin API; keys and budgets are named here, by the names of keys. */
const File = z.looseObject({
  keys: z.array(Key).default([]),
  budgets: z.array(Budget).default([]),
});

const readFileOf = async (path: string): Promise<z.infer<typeof File>> => {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, 'utf8'));
  } catch (cause) {
    throw usageError(`Cannot read ${path}: ${messageOf(cause)}.`, { cause });
  }
  const parsed = File.safeParse(value);
  if (parsed.success) return parsed.data;
  throw usageError(`${path} is not valid.\n${z.prettifyError(parsed.error)}`);
};

const findKey = async (send: AdminClient, project: string, name: string) => {
  const wanted = requestFor('keys.list', { project }, { q: name, status: 'active' });
  const { data } = await allPages(send, wanted);
  const id = data.find((key) => key.name === name)?.id;
  return typeof id === 'string' ? id : undefined;
};

const applyKey = async (send: AdminClient, { project, ...key }: z.infer<typeof Key>) => {
  const { name } = key;
  const id = await findKey(send, project, name);
  if (id !== undefined) return { project, name, id, outcome: 'unchanged' };
  const created = await send(requestFor('keys.create', { project }, key));
  return { project, name, id: created.id, outcome: 'created', key: created.key };
};

/** The operations of a budget, and the path of its owner. Lists may not have the keys that were made right before. */
const ownerOf = async (send: AdminClient, { project, key, users }: Budget, made: Row[]) => {
  if (project === undefined) return { scope: 'organisation-', parameters: {} } as const;
  if (users) return { scope: 'users-', parameters: { project } } as const;
  if (key === undefined) return { scope: '', parameters: { project } } as const;
  const known = made.find((one) => one.project === project && one.name === key)?.id;
  const id = typeof known === 'string' ? known : await findKey(send, project, key);
  if (id === undefined) throw usageError(`The project ${project} has no key ${key}.`);
  return { scope: 'key-', parameters: { project, key: id } } as const;
};

const ownerText = ({ project, key, users }: Budget): string =>
  [
    project ?? 'organisation',
    ...(users ? ['each user'] : []),
    ...(key === undefined ? [] : [key]),
  ].join('/');

const NO_BUDGET = /\(status 404/;

const applyBudget = async (
  send: AdminClient,
  budget: Budget,
  { force, made }: { force: boolean; made: Row[] },
) => {
  const { scope, parameters } = await ownerOf(send, budget, made);
  const { max_usd, period } = budget;
  const before = await send(requestFor(`${scope}budgets.show`, parameters)).catch(
    (error: unknown) => {
      if (NO_BUDGET.test(messageOf(error))) return undefined;
      throw error;
    },
  );
  const row = { owner: ownerText(budget), max_usd, period };
  if (before?.max_usd === max_usd && before.period === period)
    return { ...row, outcome: 'unchanged' };
  if (before && !force) return { ...row, outcome: 'kept' };
  await send(requestFor(`${scope}budgets.set`, parameters, { max_usd, period }));
  return { ...row, outcome: before ? 'changed' : 'created' };
};

const OUTCOME_COLUMNS = ['id', 'outcome'];

export const APPLY: Command = {
  operands: { '': 'FILE' },
  options: ['force'],
  perform: async ({ operands: [file = ''], options: { force = false } }, { send }) => {
    const { keys, budgets, ...seed } = await readFileOf(file);
    const applied = await send(requestFor('apply', {}, { ...seed, ...(force && { force }) }));
    const [doneKeys, doneBudgets]: [Row[], Row[]] = [[], []];
    // A key is found by its name before the next one is made.
    for (const key of keys) doneKeys.push(await applyKey(send, key));
    for (const budget of budgets) {
      doneBudgets.push(await applyBudget(send, budget, { force, made: doneKeys }));
    }
    return { ...applied, keys: doneKeys, budgets: doneBudgets };
  },
  lists: {
    projects: OUTCOME_COLUMNS,
    plans: OUTCOME_COLUMNS,
    keys: ['project', 'name', 'outcome', 'key'],
    budgets: ['owner', 'max_usd', 'period', 'outcome'],
  },
  note: ({ plans, budgets, keys }) =>
    [
      ...(JSON.stringify([plans, budgets]).includes('"outcome":"kept"')
        ? ['Plans and budgets that differ from the file are kept. Use --force to overwrite them.']
        : []),
      ...(JSON.stringify(keys).includes('"outcome":"created"')
        ? ['The keys are shown only once. Store them now.']
        : []),
    ].join('\n') || undefined,
};
