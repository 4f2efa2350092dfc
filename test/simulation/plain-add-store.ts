import { type DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import type { MeterStore, ReservedUnit } from '../../lambdas/stores/meter-store.ts';
import { StoreUnavailable } from '../../lambdas/stores/store-unavailable.ts';
import { PARTITION_KEY } from '../../lambdas/tables.ts';

/**
 * The naive meter: conditional counters without request ids. The simulation must detect it, which proves that
 * the simulation can fail.
 */
export const createPlainAddStore = (client: DynamoDBDocumentClient): MeterStore => {
  const add = async (
    unit: ReservedUnit,
    amount: number,
    limits?: { rpm: number; quota: number },
  ) => {
    try {
      await client.send(
        new UpdateCommand({
          TableName: 'meters',
          Key: { [PARTITION_KEY]: unit.meterId },
          UpdateExpression: limits ? 'ADD #r :n, #q :n' : 'ADD #q :n',
          ...(limits && {
            ConditionExpression:
              '(attribute_not_exists(#q) OR #q < :quota) AND (attribute_not_exists(#r) OR #r < :rpm)',
          }),
          ExpressionAttributeNames: { '#r': `r${unit.minute}`, '#q': `q${unit.period}` },
          ExpressionAttributeValues: { ':n': amount, ':rpm': limits?.rpm, ':quota': limits?.quota },
        }),
      );
      return true;
    } catch (cause) {
      if (cause instanceof Error && cause.name === 'ConditionalCheckFailedException') return false;
      throw new StoreUnavailable('No answer.', { cause });
    }
  };
  const readUsage = async ({ meterId, minute, period }: Omit<ReservedUnit, 'requestId'>) => {
    try {
      const { Item = {} } = await client.send(
        new GetCommand({ TableName: 'meters', Key: { [PARTITION_KEY]: meterId } }),
      );
      const minuteCount = Number(Item[`r${minute}`] ?? 0);
      const periodCount = Number(Item[`q${period}`] ?? 0);
      return {
        minuteCount,
        periodCount,
        reservedCount: 0,
        inFlightCount: 0,
        isKeyEnded: false,
        lastUsedAt: undefined,
        hasStaleMarks: false,
      };
    } catch (cause) {
      throw new StoreUnavailable('No answer.', { cause });
    }
  };
  const refunded = new Set<string>();
  const reserve: MeterStore['reserve'] = async (reservation) => {
    const { rpm, quota } = reservation;
    const admitted = rpm > 0 && quota > 0 && (await add(reservation, 1, { rpm, quota }));
    const counts = await readUsage(reservation);
    const refusal = counts.periodCount >= quota ? 'quota-exhausted' : 'rate-limited';
    return { outcome: admitted ? 'admitted' : refusal, ...counts };
  };
  const refund: MeterStore['refund'] = async (unit) => {
    if (refunded.has(unit.requestId)) return;
    await add(unit, -1);
    refunded.add(unit.requestId);
  };
  return {
    reserve,
    reserveUnconfirmed: reserve,
    charge: async () => undefined,
    refund,
    withdraw: refund,
    changeLease: async () => undefined,
    reap: async () => 0,
    readUsage,
    endedPeriods: async () => [],
    forgetPeriods: async () => undefined,
    endKey: async () => undefined,
    revokeKey: async () => undefined,
    admitFree: async () => true,
  };
};
