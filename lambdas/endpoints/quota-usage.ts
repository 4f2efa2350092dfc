import type { Meter } from '../metering/meter.ts';
import type { WindowUsage } from '../metering/quota-usage.ts';
import { omitUndefined } from '../support/omit-undefined.ts';
import { formatInstant } from '../support/time.ts';
import type { Endpoint } from './endpoint.ts';

const publicUse = ({ limit, used, remaining, resetAt }: WindowUsage) => ({
  limit,
  used,
  remaining,
  resets_at: formatInstant(resetAt),
});

/** GET /v1/usage: what the key's plan allows and what is left of it, free of quota. */
export const createGetUsage =
  ({ meter }: { meter: Meter }): Endpoint =>
  async ({ caller }) => {
    await meter.admitFree(caller);
    const { minute, period, lastUsedAt } = await meter.usage(caller);
    const { id, rpm, quota, period: length, concurrency } = caller.plan;
    return {
      status: 200,
      body: {
        object: 'usage',
        key_id: caller.keyId,
        project_id: caller.projectId,
        plan: { id, rpm, quota, period: length, ...omitUndefined({ concurrency }) },
        minute: publicUse(minute),
        period: { ...publicUse(period), reserved: period.reserved },
        last_used_at: lastUsedAt === undefined ? null : formatInstant(lastUsedAt),
      },
    };
  };
