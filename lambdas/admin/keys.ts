import type { KeyRecord, KeyStore } from '../stores/key-store.ts';
import { listOf } from '../support/async-lists.ts';
import { invalidRequest, notFound } from '../support/errors.ts';
import { omitUndefined } from '../support/objects.ts';
import { budgetsOfKey } from './budget-owners.ts';
import { OVERLAPS_MS } from './input.ts';
import { requireKey, requirePlan } from './key-changes.ts';
import { checkKeyLimits } from './key-limits.ts';
import type { Operation, OperationParts } from './operation.ts';
import { readPage } from './page.ts';
import { projectsSeenBy, requireProject } from './projects.ts';
import { auditedKey, keyNotFound, publicKey, statusAt } from './public-key.ts';
import type { KeyQuery } from './queries.ts';
import { conflict, type Identity, maySee } from './roles.ts';

/** @throws ApiError 400 */
const requireFuture = (expiresAt: number | undefined, now: number): void => {
  if (expiresAt === undefined || expiresAt > now) return;
  throw invalidRequest('expires_at: must be in the future.', { param: 'expires_at' });
};

/** The text is part of the key's name, id or first characters, in any case. */
const matches = ({ name = '', keyId, start }: KeyRecord, text: string): boolean =>
  [name, keyId, start].some((field) => field.toLowerCase().includes(text));

const isWantedBy =
  ({ q = '', status }: KeyQuery, now: number) =>
  (record: KeyRecord): boolean =>
    matches(record, q.toLowerCase()) && (status === undefined || status === statusAt(record, now));

export const readKeyPage = (
  keys: Pick<KeyStore, 'readKeys'>,
  project: string,
  query: KeyQuery,
  now: number,
) =>
  readPage(keys.readKeys(project, query.cursor), {
    limit: query.limit,
    placeOf: ({ keyId }) => keyId,
    isWanted: isWantedBy(query, now),
  });

const keyLists = ({ lifecycle, keys, projects, clock }: OperationParts) => {
  const list = (async ({ parameters: { project = '' }, query }) => {
    await requireProject(projects, project);
    const now = clock.now();
    const page = await readKeyPage(keys, project, query, now);
    const data = page.data.map((record) => publicKey(record, now));
    if (query.count === undefined) return { status: 200, body: { ...page, data } };
    const isOnly = page.next_cursor === null && query.cursor === undefined;
    const all = isOnly ? page.data : await listOf(keys.readKeys(project));
    const total = all.filter(isWantedBy(query, now)).length;
    return { status: 200, body: { ...page, data, total } };
  }) satisfies Operation<'keys.list'>;

  const show = (async ({ parameters: { project = '', key = '' } }) => {
    const record = await lifecycle.find({ projectId: project, keyId: key });
    if (!record) throw keyNotFound(project, key);
    return { status: 200, body: publicKey(record, clock.now()) };
  }) satisfies Operation<'keys.show'>;

  const byHash = async (hash: string, identity: Identity): Promise<KeyRecord[]> => {
    const record = await keys.findKey(hash);
    return record && maySee(identity, record.projectId) ? [record] : [];
  };

  const inAnyProject = async (isSought: (record: KeyRecord) => boolean, identity: Identity) => {
    const ids = await projectsSeenBy(projects, identity);
    const found = await Promise.all(ids.map((id) => listOf(keys.readKeys(id))));
    return found.flat().filter(isSought);
  };

  /** By the SHA-256 of the whole key, the first characters that lists show, or its id. In any project. */
  const find = (async ({ input: { sha256, start, id }, identity }) => {
    const found =
      sha256 === undefined
        ? await inAnyProject((key) => key.start === start || key.keyId === id, identity)
        : await byHash(sha256, identity);
    if (found.length === 0) throw notFound('No key matches.');
    const data = found.map((record) => publicKey(record, clock.now()));
    return { status: 200, body: { data } };
  }) satisfies Operation<'keys.find'>;

  return { 'keys.list': list, 'keys.show': show, 'keys.find': find };
};

export const keyHandlers = (parts: OperationParts) => {
  const { lifecycle, admitKey, newKeyId, plans, projects, budgets, checkModels, clock } = parts;

  /** The response contains the key itself, this once. */
  const create = (async ({ parameters: { project = '' }, input }) => {
    const { plan: planId, expires_at: expiresAt, name, ...limits } = input;
    requireFuture(expiresAt, clock.now());
    checkModels(limits);
    await requireProject(projects, project);
    checkKeyLimits(limits, await requirePlan(plans, planId));
    const ids = { projectId: project, planId, keyId: newKeyId() };
    await admitKey(ids);
    const under = budgetsOfKey(await budgets.listBudgets(), ids);
    const optional = omitUndefined({ name, expiresAt, budgets: under });
    const { key, record } = await lifecycle.create({ ...ids, ...limits, ...optional });
    const after = auditedKey(record, clock.now());
    return {
      status: 201,
      body: { key, ...publicKey(record, clock.now()) },
      changes: [{ plan: planId, key: record.keyId, after }],
    };
  }) satisfies Operation<'keys.create'>;

  /** The response contains the successor itself, this once. It shares the old key's counters. */
  const rotate = (async ({ parameters, input }) => {
    const { project = '', key: keyId = '' } = parameters;
    const { overlap, expires_at: expiresAt } = input;
    requireFuture(expiresAt, clock.now());
    const found = await requireKey(lifecycle, { projectId: project, keyId });
    const unusable = conflict(`Key '${keyId}' is paused, revoked or expired.`);
    // Before its successor is admitted, which would take the place of the next one for a minute.
    if (statusAt(found, clock.now()) !== 'active') throw unusable;
    const successorId = newKeyId();
    await admitKey({
      ...{ projectId: project, planId: found.planId, keyId: successorId },
      // A key that has a successor keeps it and gets another one.
      replaces: found.replacedBy === undefined ? keyId : undefined,
    });
    const under = budgetsOfKey(await budgets.listBudgets(), found);
    const rotated = await lifecycle.rotate({
      ...{ projectId: project, keyId, overlapMs: OVERLAPS_MS[overlap] },
      successorId,
      ...omitUndefined({ expiresAt, budgets: under }),
    });
    if (!rotated) throw unusable;
    const { key, old, record, isOldKeyEnded } = rotated;
    const replaced = { replaces: keyId, overlap, old_key_ended: isOldKeyEnded };
    const before = auditedKey(old, clock.now());
    const after = { ...auditedKey(record, clock.now()), ...replaced };
    return {
      status: 201,
      body: { key, ...publicKey(record, clock.now()), ...replaced },
      changes: [{ plan: old.planId, before, after }],
    };
  }) satisfies Operation<'keys.rotate'>;

  const revoke = (async ({ parameters: { project = '', key: keyId = '' }, input: { reason } }) => {
    const record = await lifecycle.revoke({ projectId: project, keyId });
    if (!record) throw keyNotFound(project, keyId);
    const { planId: plan } = record;
    const before = auditedKey(record, clock.now());
    const after = { ...before, status: 'revoked', ...(reason && { reason }) };
    return {
      status: 200,
      body: { id: keyId, project, status: 'revoked' },
      changes: [{ plan, before, after }],
    };
  }) satisfies Operation<'keys.revoke'>;

  return {
    ...keyLists(parts),
    'keys.create': create,
    'keys.rotate': rotate,
    'keys.revoke': revoke,
  };
};
