import type { Clock } from '../../lambdas/support/clock.ts';
import { TABLE_NAMES } from '../support/dynamo.ts';
import type { DynamoProxy, TableCall } from './dynamo-proxy.ts';

/** DynamoDB bills a write by the larger of its item before and after, in units of 1 KB. */
const UNIT_BYTES = 1_024;
const SECOND = 1_000;

type Attributes = Record<string, { S?: string; N?: string }>;

/** About what DynamoDB bills: names and texts byte by byte, a number one byte for two digits and one more. */
const bytesOf = (item: Attributes): number =>
  Object.entries(item).reduce(
    (sum, [name, { S = '', N }]) =>
      sum + name.length + (N === undefined ? S.length : Math.ceil(N.length / 2) + 1),
    0,
  );

const unitsOf = (bytes: number): number => Math.max(1, Math.ceil(bytes / UNIT_BYTES));

/**
 * Limits the writes of each item of the meters table as DynamoDB does (1,000 units a second there): a write costs
 * its units also if its condition fails, and one without enough units left is refused.
 */
export const createItemCapacity = ({
  clock,
  unitsPerSecond,
}: {
  clock: Clock;
  unitsPerSecond: number;
}) => {
  const items = new Map<
    string,
    { units: number; filledAt: number; names: string[]; bytes: number }
  >();
  const counts = { units: 0, refused: 0 };

  const itemAt = (key: string) => {
    const now = clock.now();
    const item = items.get(key) ?? { units: unitsPerSecond, filledAt: now, names: [], bytes: 0 };
    const filled = ((now - item.filledAt) / SECOND) * unitsPerSecond;
    item.units = Math.min(unitsPerSecond, item.units + filled);
    item.filledAt = now;
    items.set(key, item);
    return item;
  };
  const isLimited = ({ table, operation }: TableCall) =>
    table === TABLE_NAMES.meters && operation === 'UpdateItem';

  const take = (item: { units: number }, units: number) => {
    item.units -= units;
    counts.units += units;
  };

  const decide = (call: TableCall) => {
    if (!isLimited(call)) return 'none';
    const item = itemAt(call.key);
    const price = unitsOf(item.bytes);
    if (item.units < price) {
      counts.refused += 1;
      return 'over capacity';
    }
    take(item, price);
    return 'none';
  };

  const onAnswer = (call: TableCall, body: Buffer) => {
    if (!isLimited(call)) return;
    const { Attributes } = JSON.parse(body.toString()) as { Attributes?: Attributes };
    if (!Attributes) return;
    const item = itemAt(call.key);
    const bytes = bytesOf(Attributes);
    // A write that makes its item larger than a unit costs more than was taken before it was applied.
    take(item, Math.max(0, unitsOf(bytes) - unitsOf(item.bytes)));
    item.bytes = bytes;
    item.names = Object.keys(Attributes);
  };

  return {
    /** Units written and writes refused since the start. */
    counts,
    /** Names of the attributes of each item, as its last write left them. */
    attributes: () => [...items.values()].map(({ names }) => names),
    limit: ({ decide: decideFor, watch }: DynamoProxy) => {
      decideFor(decide);
      watch(onAnswer);
    },
  };
};
