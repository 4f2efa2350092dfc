import type { KeyRecord } from '../stores/key-store.ts';
import { formatInstant } from '../support/rfc3339.ts';

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
  created_at: formatInstant(record.createdAt),
  ...(record.expiresAt !== undefined && { expires_at: formatInstant(record.expiresAt) }),
  ...(record.replacedBy !== undefined && { replaced_by: record.replacedBy }),
});
