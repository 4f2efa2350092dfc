import {
  createUnique,
  type Note,
  onePlan,
  type Period,
  type Plans,
  UNLIMITED,
} from './imported.ts';
import type { Config, Key, Team } from './litellm-config.ts';
import { placeOf } from './read-source.ts';
import { unusedIn } from './unused.ts';

/** What a name of a model in a list of LiteLLM means: the ids of the catalog that it allows. */
export type IdsOf = (names: string[]) => string[] | undefined;

type Parts = {
  config: Config;
  teams: Team[] | undefined;
  keys: Key[] | undefined;
  idsOf: IdsOf;
  /** Milliseconds since the epoch. */
  now: number;
};

const MAX_NAME = 100;
const MAX_ID = 64;
const MIN_USD = 0.01;
const MAX_USD = 1_000_000;
/** Of a project or plan for what belongs to no team. */
const NO_TEAM = 'imported';

const PERIODS: [duration: RegExp, period: Period][] = [
  [/^(?:1h|60m|3600s?)$/, 'hour'],
  [/^(?:24h|1d|daily)$/, 'day'],
  [/^(?:1mo|30d|31d|monthly)$/, 'month'],
];

const idOf = (text: string): string =>
  text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .replace(/-$/, '') || 'team';

const nameOf = (text: string): string =>
  text
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ')
    .trim()
    .slice(0, MAX_NAME)
    // The cut may be within a character, or behind a space.
    .replace(/[\uD800-\uDBFF]$/, '')
    .trim();

type Budgeted = {
  max_budget?: number | null | undefined;
  budget_duration?: string | null | undefined;
};

const createBudgets = (notes: { noCounterpart: Note[]; assumed: Note[] }) => {
  const budgets: Plans['budgets'] = [];
  /** Adds what a value of the file says; the owner is whose it is. */
  const add = (
    { max_budget: max, budget_duration: duration }: Budgeted,
    owner: Omit<Plans['budgets'][0], 'max_usd' | 'period'>,
    place: string,
  ): void => {
    if (max === null || max === undefined) return;
    const period = duration ? PERIODS.find(([form]) => form.test(duration))?.[1] : 'total';
    if (period === undefined) {
      const reason = `${duration}: a budget is of an hour, a day, a month, or in total`;
      notes.noCounterpart.push({ place: `${place}.budget_duration`, reason });
      return;
    }
    if (max < MIN_USD || max > MAX_USD) {
      const reason = `${max}: a budget is of ${MIN_USD} to ${MAX_USD} dollars`;
      notes.noCounterpart.push({ place: `${place}.max_budget`, reason });
      return;
    }
    if (period === 'month' && duration !== '1mo') {
      const reason = `${duration}: a calendar month in UTC`;
      notes.assumed.push({ place: `${place}.budget_duration`, reason });
    }
    budgets.push({ ...owner, max_usd: max, period });
  };
  return { budgets, add };
};

/** At most those of the plan. */
const limitsOf = (
  { rpm_limit: rpm, max_parallel_requests: concurrency }: Team | Key,
  plan: { rpm: number; concurrency?: number } = UNLIMITED,
) => ({
  ...(rpm !== null && rpm !== undefined && { rpm: Math.min(Math.round(rpm), plan.rpm) }),
  ...(concurrency && {
    concurrency: Math.max(1, Math.round(Math.min(concurrency, plan.concurrency ?? concurrency))),
  }),
});

const EXCLUDED = 'none of its models is in the catalog';

const readTeams = (parts: Parts, plans: Plans, notes: Notes, add: AddBudget) => {
  const { teams = [], config, idsOf } = parts;
  const projects = new Map<string, string>();
  const unique = createUnique(MAX_ID);
  // A team of this name is another project.
  unique(NO_TEAM);
  const stated = (config.litellm_settings?.default_team_settings ?? [])
    .filter(({ team_id: id }) => !teams.some((team) => team.team_id === id))
    .map((team, index) => ({ team, path: ['litellm_settings', 'default_team_settings', index] }));
  const listed = teams.map((team, index) => ({ team, path: ['teams', index] }));
  for (const { team, path } of [...listed, ...stated] as { team: Team; path: PropertyKey[] }[]) {
    const place = placeOf(path);
    notes.noCounterpart.push(...unusedIn('team', team, path));
    const models = idsOf(team.models ?? []);
    if (team.blocked || models?.length === 0) {
      notes.noCounterpart.push({ place, reason: team.blocked ? 'it is blocked' : EXCLUDED });
      continue;
    }
    const id = unique(idOf(team.team_alias || team.team_id));
    projects.set(team.team_id, id);
    plans.projects.push({ id, name: nameOf(team.team_alias || team.team_id) || id });
    plans.plans.push({ id, ...UNLIMITED, ...limitsOf(team), ...(models && { models }) });
    if (team.rpm_limit) {
      notes.assumed.push({
        place: `${place}.rpm_limit`,
        reason: 'a limit of each key of the project',
      });
    }
    add(team, { project: id }, place);
  }
  return projects;
};

type Notes = { noCounterpart: Note[]; assumed: Note[] };
type AddBudget = ReturnType<typeof createBudgets>['add'];

type Place = { project: string | undefined; models: string[] | undefined };

/** Why a key is not made again. */
const endOf = (key: Key, { project, models }: Place, now: number): string | undefined => {
  const { blocked, expires, team_id: team } = key;
  if (blocked) return 'it is blocked';
  // Also of a text that is not a date.
  if (expires && !(Date.parse(expires) > now)) return 'it has expired';
  if (project === undefined) return `its team ${team} was not imported`;
  return models?.length === 0 ? EXCLUDED : undefined;
};

const readKeys = (
  { keys = [], idsOf, now }: Parts,
  plans: Plans,
  notes: Notes,
  projects: Map<string, string>,
  add: AddBudget,
) => {
  const unique = createUnique(MAX_NAME);
  for (const [index, key] of keys.entries()) {
    const place = `keys[${index}]`;
    notes.noCounterpart.push(...unusedIn('key', key, ['keys', index]));
    const project = key.team_id ? projects.get(key.team_id) : NO_TEAM;
    const plan = plans.plans.find(({ id }) => id === project);
    const asked = idsOf(key.models ?? []);
    const models = asked?.filter((id) => plan?.models?.includes(id) ?? true);
    const end = endOf(key, { project, models }, now);
    if (end !== undefined || project === undefined) {
      notes.noCounterpart.push({ place, reason: end ?? '' });
      continue;
    }
    const [alias, start] = [nameOf(key.key_alias ?? ''), nameOf(key.key_name ?? '')];
    const name = unique(alias || start || `key ${index + 1}`);
    plans.keys.push({
      ...{ project, plan: project, name, ...limitsOf(key, plan) },
      ...(models && { models }),
      ...(key.expires && { expires_at: new Date(key.expires).toISOString() }),
    });
    add(key, { project, key: name }, place);
  }
};

/** Teams as projects, keys as new keys, budgets as they are. */
export const readPlans = (parts: Parts, notes: Notes): Plans => {
  const { config, teams, keys } = parts;
  const { budgets, add } = createBudgets(notes);
  const plans: Plans = { projects: [], plans: [], keys: [], budgets };
  add(config.litellm_settings ?? {}, {}, 'litellm_settings');
  const projects = readTeams(parts, plans, notes, add);
  readKeys(parts, plans, notes, projects, add);
  if (plans.keys.some(({ project }) => project === NO_TEAM) || (!keys && !teams)) {
    const own = onePlan(NO_TEAM);
    plans.projects.push(...own.projects);
    plans.plans.push(...own.plans);
    if (!keys) plans.keys.push(...own.keys);
  }
  const { max_end_user_budget: max } = config.litellm_settings ?? {};
  for (const { id } of plans.projects) {
    add({ max_budget: max }, { project: id, users: true }, 'litellm_settings.max_end_user_budget');
  }
  return plans;
};
