import type { KeyLimits, KeyRecord } from '../stores/key-store.ts';
import { formatInstant } from '../support/clock.ts';
import { type ApiError, notFound } from '../support/errors.ts';
import { omitUndefined } from '../support/objects.ts';

export const statusAt = ({ status, expiresAt }: KeyRecord, now: number): string =>
  status !== 'revoked' && expiresAt !== undefined && expiresAt <= now ? 'expired' : status;

const limitsOf = ({ rpm, quota, concurrency, models, require, budgets }: KeyLimits): KeyLimits =>
  omitUndefined({ rpm, quota, concurrency, models, require, budgets });

/** A key as the admin API returns it: its id and first characters, never the key or its hash. */
export const publicKey = (record: KeyRecord, now: number) => ({
  id: record.keyId,
  project: record.projectId,
  plan: record.planId,
  start: record.start,
  ...(record.name !== undefined && { name: record.name }),
  status: statusAt(record, now),
  ...limitsOf(record),
  created_at: formatInstant(record.createdAt),
  ...(record.expiresAt !== undefined && { expires_at: formatInstant(record.expiresAt) }),
  ...(record.replacedBy !== undefined && { replaced_by: record.replacedBy }),
});

/** A key in the audit, which holds no part of it. */
export const auditedKey = (record: KeyRecord, now: number) => {
  const { start: _, ...fields } = publicKey(record, now);
  return fields;
};

export const keyNotFound = (project: string, key: string): ApiError =>
  notFound(`Key '${key}' not found in project '${project}'. A new key is listed within a second.`);
