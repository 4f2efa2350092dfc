import { unknownWords } from '../catalog/scope.ts';
import { periodOf } from '../metering/limits.ts';
import type { Lesson } from '../stores/notes.ts';
import { UnreadableItem } from '../stores/store-unavailable.ts';
import { DAY_MS, dayOf, formatInstant } from '../support/clock.ts';
import { invalidRequest } from '../support/errors.ts';
import { type Check, failed, ok, warning } from './check.ts';
import { checkCatalog } from './check-catalog.ts';
import type { AdminParts, Operation, OperationParts } from './operation.ts';
import { checkLimits, checkQuotas } from './provider-limits.ts';
import { checkRetirements } from './retirements.ts';
import { createTestTarget } from './target-test.ts';
import { callsOf, placedTargets } from './targets.ts';

type DoctorParts = Omit<AdminParts, 'log' | 'randomBytes'> &
  Pick<OperationParts, 'presetOf' | 'readQuotas'>;

// --- the secret ---

const SECRET_TIMEOUT_MS = 5_000;
/** What a header can carry. */
const SENDABLE = /^[\x20-\x7e]+$/;
const PLACEHOLDER = /^(?:placeholder|change-?me|todo|xxx+|<.*>|your[-_ ].*)$/i;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : 'unknown');

const faultOfCredential = async (name: string, { secrets, clock }: DoctorParts) => {
  const timeout = new AbortController();
  const cancel = clock.after(SECRET_TIMEOUT_MS, () =>
    timeout.abort(new Error(`Secrets Manager did not answer within ${SECRET_TIMEOUT_MS} ms.`)),
  );
  try {
    const { value } = await secrets.get(name, timeout.signal);
    if (PLACEHOLDER.test(value)) return 'The field of the secret is a placeholder.';
    return SENDABLE.test(value)
      ? undefined
      : 'The field holds characters that no header can carry.';
  } catch (error) {
    return messageOf(error);
  } finally {
    cancel();
  }
};

/** Targets that the role calls have no secret: their calls show whether its policy allows them. */
const checkSecrets = async (parts: DoctorParts): Promise<Check[]> => {
  const byName = new Map(
    placedTargets(parts.models)
      .toReversed()
      .flatMap(({ place, target: { secret } }) =>
        secret === undefined ? [] : [[secret, place] as const],
      ),
  );
  return Promise.all(
    [...byName].map(async ([name, place]) => {
      const fault = await faultOfCredential(name, parts);
      const check = `credential ${name}`;
      return fault === undefined ? ok(check, 'is set') : failed(check, `${place}.secret`, fault);
    }),
  );
};

// --- tables and what they hold ---

const NO_ID = 'doctor';

/** Not the table of kept responses: the role may not read them. */
const checkTables = async (parts: DoctorParts) => {
  const { keys, plans, projects, meters, records, history, clock } = parts;
  const now = clock.now();
  const period = periodOf('month', now).label;
  const reads: Record<string, () => Promise<unknown>> = {
    keys: () => keys.findKey(NO_ID),
    plans: () => plans.listPlans(),
    projects: () => projects.listProjects(),
    meters: () => meters.readUsage({ meterId: NO_ID, keyId: NO_ID, minute: 0, period, now }),
    records: () => records.readDay(NO_ID, dayOf(now)).next(),
    history: () => history.readProgress(NO_ID),
  };
  return Promise.all(
    Object.entries(reads).map(async ([name, read]): Promise<Check> => {
      const check = `table ${name}`;
      try {
        await read();
        return ok(check, 'answers');
      } catch (error) {
        return failed(check, name, `${messageOf(error)} Check the role and the table.`);
      }
    }),
  );
};

export const checkPlans = async ({ models, plans }: Pick<OperationParts, 'models' | 'plans'>) => {
  const all = await plans.listPlans().catch(() => []);
  if (all.length === 0)
    return [warning('plans', 'plans', 'There is no plan: no key can be created.')];
  const ids = models.map(({ id }) => id);
  const found = all.flatMap((plan) => {
    const { id } = plan;
    if ('unreadable' in plan)
      return [failed('plans', `plan ${id}`, new UnreadableItem('plan').message)];
    const unknown = (plan.models ?? []).filter((name) => !ids.includes(name));
    const words = unknownWords(plan, models);
    return [
      ...(unknown.length > 0
        ? [`names models that the catalog does not have: ${unknown.join(', ')}`]
        : []),
      ...(words.length > 0 ? [`requires labels that no target has: ${words.join(', ')}`] : []),
    ].map((reason) => failed('plans', `plan ${id}`, reason));
  });
  return found.length > 0
    ? found
    : [ok('plans', `${all.length} ${all.length === 1 ? 'plan' : 'plans'}`)];
};

const checkState = async ({ plans, stateMode = 'off' }: DoctorParts): Promise<Check> => {
  const all = await plans.listPlans().catch(() => []);
  const own = all.flatMap((plan) =>
    'state' in plan && plan.state !== undefined ? [`${plan.id}: ${plan.state}`] : [],
  );
  const rest = `${stateMode} for ${own.length > 0 ? 'other' : 'all'} plans`;
  return ok('stored and background responses', [...own, rest].join(', '));
};

// --- what targets turned out to accept ---

/** The lesson of a provider that came back to what the profile states. */
const NO_DIFFERENCE = '{}';

const checkLessons = async ({ models, lessons, clock }: DoctorParts): Promise<Check[]> => {
  const known = await lessons.readLessons().catch(() => ({}));
  const learned = new Map(Object.entries<Lesson>(known));
  const now = clock.now();
  return placedTargets(models).flatMap(({ place, target }) => {
    const lesson = learned.get(`${target.protocol}:${target.upstream}/${target.model}`);
    if (lesson === undefined || lesson.until <= now || lesson.profile === NO_DIFFERENCE) return [];
    const reason = `The provider rejects what the profile states or leaves open; add ${lesson.profile} to it.`;
    return [warning('profile', `${place}.profile`, reason)];
  });
};

/** Names the targets that no request under a budget gets, because what they bill has no price. */
const checkBudgets = async ({ models, budgets, clock }: DoctorParts): Promise<Check[]> => {
  const all = await budgets.listBudgets().catch(() => []);
  if (all.length === 0) return [];
  const today = dayOf(clock.now());
  return placedTargets(models).flatMap(({ place, target }) => {
    const { versions = [] } = target.prices ?? {};
    const version = versions.findLast(({ from }) => from <= today) ?? versions[0];
    const unpriced = (['input', 'output'] as const).filter((kind) => version?.[kind] === null);
    if (unpriced.length === 0) return [];
    const reason = `Requests under a budget do not get this target: it has no price for ${unpriced.join(' and ')}.`;
    return [warning('budgets', `${place}.prices`, reason)];
  });
};

/** Vendors release models every few weeks, and retire them with 60 days of notice. */
const MAX_AGE_MS = 90 * DAY_MS;

/** Names the targets whose preset was last compared with its vendor's pages more than 90 days ago. */
export const checkPresets = ({
  models,
  clock,
  presetOf: find,
}: Pick<OperationParts, 'models' | 'clock' | 'presetOf'>): Check[] =>
  placedTargets(models).flatMap(({ place, target }) => {
    const { name, source, checkedOn = '' } = find(target.profile) ?? {};
    if (name === undefined || clock.now() - Date.parse(checkedOn) <= MAX_AGE_MS) return [];
    const reason = `The preset ${name} was last checked on ${checkedOn}; compare it with ${source}, or update the router.`;
    return [warning('profile', `${place}.profile`, reason)];
  });

// --- the operations ---

/** `check` makes no call to a provider; `test` makes one, and costs no unit. */
export const doctorHandlers = (parts: DoctorParts) => {
  const testTarget = createTestTarget(parts);

  const check = (async () => {
    const checks = await Promise.all([
      checkCatalog(parts.models),
      checkSecrets(parts),
      checkTables(parts),
      checkPlans(parts),
      checkState(parts),
      checkLessons(parts),
      checkBudgets(parts),
      checkPresets(parts),
      checkRetirements(parts),
      checkLimits(parts, placedTargets(parts.models)),
      checkQuotas(parts),
    ]);
    const targets = placedTargets(parts.models).map(({ place, model, target }) => ({
      place,
      model: model.id,
      upstream: target.upstream,
      calls: callsOf(model, target),
    }));
    const now = formatInstant(parts.clock.now());
    return { status: 200, body: { now, checks: checks.flat(), targets } };
  }) satisfies Operation<'checks'>;

  const test = (async ({ input }) => {
    const { place, call } = input;
    const found = placedTargets(parts.models).find((each) => each.place === place);
    if (!found) throw invalidRequest(`The catalog has no target ${place}.`, { param: 'place' });
    const { model, target } = found;
    const { member, ...outcome } = await testTarget(model, target, call);
    const at = member === undefined ? place : `${place}.${member}`;
    return { status: 200, body: { check: `${call} call`, ...outcome, place: at } };
  }) satisfies Operation<'targets.test'>;

  return { checks: check, 'targets.test': test };
};
