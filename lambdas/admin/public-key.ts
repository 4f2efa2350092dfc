import type { KeyRecord } from '../stores/key-store.ts';

/** RFC 3339, to the second. */
export const instantText = (ms: number): string =>
  new Date(ms).toISOString().replace(/\.\d{3}Z$/, 'Z');

const statusAt = ({ status, expiresAt }: KeyRecord, now: number): string =>
  status === 'active' && expiresAt !== undefined && expiresAt <= now ? 'expired' : status;

/** A key as operators see it: by its id and its first characters, which open nothing. */
export const publicKey = (record: KeyRecord, now: number) => ({
  id: record.keyId,
  project: record.projectId,
  plan: record.planId,
  start: record.start,
  ...(record.name !== undefined && { name: record.name }),
  status: statusAt(record, now),
  created_at: instantText(record.createdAt),
  ...(record.expiresAt !== undefined && { expires_at: instantText(record.expiresAt) }),
  ...(record.replacedBy !== undefined && { replaced_by: record.replacedBy }),
});
