import * as z from 'zod';
import { type Env, environmentOf } from './environment.ts';
import { Facts } from './facts.ts';
import { createUnique, ID, type Imported, type Note } from './imported.ts';
import { type Config, type Key, Keys, Teams } from './litellm-config.ts';
import { type Group, readGroups, type Table } from './litellm-models.ts';
import { type IdsOf, readPlans } from './litellm-plans.ts';
import { modelOf } from './litellm-targets.ts';
import { parseConfig } from './parse-config.ts';
import { errorAt, parseList, parseSource, type Source } from './read-source.ts';
import { unusedInConfig } from './unused.ts';

export type LitellmFiles = {
  config: Source;
  /** Answers of the running proxy. */
  teams?: Source | undefined;
  /** A file for each page. */
  keys: Source[];
  models?: Source | undefined;
};

/** The form of an alias, and what it has not. */
const NAME = /^[^\s'"`$\\\p{C}]{1,100}$/u;
const OTHERS = /[\s'"`$\\\p{C}]+/gu;
const UNUSED = 'white space, quotes, $ or control characters, and at most 100';
const MAX_NAME = 100;
const MAX_ID = 200;

/** Other names of models: by the name that they stand for. */
const aliasesIn = ({ router_settings: router, litellm_settings: settings }: Config) => {
  const named = Object.entries(router?.model_group_alias ?? {}).map(
    ([alias, to]) => [alias, typeof to === 'string' ? to : to.model] as const,
  );
  return [...named, ...Object.entries(settings?.model_alias_map ?? {})];
};

/** The names that each name falls back to, the first list of several; `*` stands for all that have none. */
const fallbacksIn = ({ router_settings: router, litellm_settings: settings }: Config) => {
  const stated = new Map(
    [router, settings]
      .flatMap((section) => (section?.fallbacks ?? []).flatMap((entry) => Object.entries(entry)))
      // Of two entries of a map the last one stays.
      .toReversed(),
  );
  const all = stated.get('*') ?? router?.default_fallbacks ?? settings?.default_fallbacks ?? [];
  return (name: string): string[] => stated.get(name) ?? all;
};

/** `openai/*` names all that begin so; other places of a `*` are not in use. */
const isNamed = (name: string, pattern: string): boolean =>
  pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;

/** `all-proxy-models` and an empty list allow every model. */
const createIdsOf =
  (ids: Map<string, string>): IdsOf =>
  (names) => {
    if (names.length === 0 || names.some((name) => /^(?:all-.*-models|\*)$/.test(name)))
      return undefined;
    const allowed = [...ids].filter(([name]) => names.some((pattern) => isNamed(name, pattern)));
    return [...new Set(allowed.map(([, id]) => id))];
  };

type Read = { config: Config; groups: Map<string, Group>; notes: Notes; now: number };
type Notes = { noCounterpart: Note[]; assumed: Note[] };

/** The names by which callers ask: a name with characters that none may have is written without them. */
const createCallers = (names: string[], notes: Notes) => {
  const unique = createUnique(MAX_NAME);
  const called = new Map<string, string>();
  // Those that are valid keep theirs.
  for (const name of names.filter((one) => NAME.test(one))) called.set(name, unique(name));
  for (const name of names.filter((one) => !NAME.test(one))) {
    const place = `model_name ${JSON.stringify(name)}`;
    const written = name.replaceAll(OTHERS, '-').replaceAll(/^-|-$/g, '');
    if (written === '') {
      const reason = 'a name has characters besides white space and quotes';
      notes.noCounterpart.push({ place, reason });
      continue;
    }
    const other = unique(written);
    called.set(name, other);
    notes.assumed.push({ place, reason: `callers write ${other}: names have no ${UNUSED}` });
  }
  return called;
};

/** Models with their ids, and the id of every name. */
const readModels = ({ config, groups, notes, now }: Read) => {
  const { noCounterpart } = notes;
  const stated = aliasesIn(config);
  const called = createCallers(
    [...new Set([...groups.keys(), ...stated.map(([alias]) => alias)])],
    notes,
  );
  const valid = [...groups.values()].flatMap((group) => {
    const caller = called.get(group.name);
    return caller === undefined ? [] : [{ ...group, caller }];
  });
  const unique = createUnique(MAX_ID);
  // Names that are ids keep them.
  const idOf = new Map(
    valid
      .toSorted((a, b) => Number(ID.test(b.caller)) - Number(ID.test(a.caller)))
      .map(({ name, caller, deployments: [first] }) => [
        name,
        unique(ID.test(caller) ? caller : `${first?.provider}/${caller}`),
      ]),
  );
  const others = stated.filter(([alias, name]) => {
    if (idOf.has(alias)) return false;
    if (idOf.has(name) && called.has(alias)) return true;
    noCounterpart.push({ place: `alias ${alias}`, reason: `no imported model is called ${name}` });
    return false;
  });
  const fallbacksOf = fallbacksIn(config);
  const meant = new Map(others);
  const fallbackGroups = (name: string): Group[] =>
    fallbacksOf(name).flatMap((other) => {
      const group = groups.get(meant.get(other) ?? other);
      if (!group) {
        noCounterpart.push({
          place: `fallbacks of ${name}`,
          reason: `no imported model is called ${other}`,
        });
      }
      return group && group.name !== name ? [group] : [];
    });
  const created = Math.floor(now / 1_000);
  const catalog = valid.map((group) => {
    const id = idOf.get(group.name) ?? group.name;
    const names = others
      .filter(([, name]) => name === group.name)
      .map(([alias]) => called.get(alias) ?? alias);
    const aliases = id === group.caller ? names : [group.caller, ...names];
    return modelOf([group, ...fallbackGroups(group.name)], { id, created, aliases });
  });
  const ids = new Map(idOf);
  for (const [alias, name] of others) ids.set(alias, idOf.get(name) ?? name);
  return { catalog, ids };
};

const Rows = z.record(z.string(), z.unknown());

/** Rows of another form, such as the table's sample, are left out. */
const tableIn = (source: Source): Table =>
  Object.fromEntries(
    Object.entries(parseSource(source, Rows)).flatMap(([name, row]) => {
      const facts = Facts.safeParse(row);
      return facts.success ? [[name, facts.data]] : [];
    }),
  );

const Hashes = z.looseObject({ keys: z.array(z.string()).min(1) });
/** Of one page of an answer. */
const Counted = z.looseObject({ total_count: z.number() });

/** The keys of all pages; undefined without a file. @throws UsageError with a line for what is not of LiteLLM's form */
const readKeys = (pages: Source[], noCounterpart: Note[]): Key[] | undefined => {
  if (pages.length === 0) return undefined;
  const keys = pages.flatMap((page) => {
    if (!Hashes.safeParse(page.value).success) return parseList(page, 'keys', Keys);
    throw errorAt(page, ['keys'], 'has only hashes: get it with ?return_full_object=true');
  });
  const totals = pages.map(({ value }) => Counted.safeParse(value).data?.total_count ?? 0);
  const total = Math.max(...totals);
  if (total > keys.length) {
    const reason = `${keys.length} of ${total} are in the file: give each page, with --keys several times`;
    noCounterpart.push({ place: 'keys', reason });
  }
  return keys;
};

/** @throws UsageError with a line for what is not of LiteLLM's form, or if no model can be called */
export const importLitellm = (files: LitellmFiles, ownEnv: Env, now: number): Imported => {
  const env = environmentOf(files.config.value, ownEnv);
  const { config, notes } = parseConfig(files.config, env);
  const noCounterpart: Note[] = [];
  const assumed: Note[] = [...files.config.notes];
  const table = files.models ? tableIn(files.models) : {};
  const { groups, left, secrets, missing } = readGroups({ config, env, table }, noCounterpart);
  const { catalog, ids } = readModels({
    ...{ config, groups, now },
    notes: { noCounterpart, assumed },
  });
  if (catalog.length === 0) {
    const reasons = noCounterpart.map(({ place, reason }) => `  ${place}: ${reason}`).join('\n');
    throw errorAt(files.config, ['model_list'], `no model of it can be called:\n${reasons}`);
  }
  noCounterpart.unshift(...notes, ...unusedInConfig(config, left));
  for (const { deployments } of groups.values())
    assumed.push(...(deployments[0]?.known.assumed ?? []));
  const plans = readPlans(
    {
      ...{ config, idsOf: createIdsOf(ids), now },
      teams: files.teams && parseSource(files.teams, Teams),
      keys: readKeys(files.keys, noCounterpart),
    },
    { noCounterpart, assumed },
  );
  return { catalog, secrets, missing, plans, noCounterpart, assumed };
};
