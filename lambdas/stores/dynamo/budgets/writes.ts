import type { Hold, Lease } from '../../budget-store.ts';
import type { LeasedUnit } from '../../meter-store.ts';
import { type Condition, counts, joined, type Write } from '../item-write.ts';
import { leasedMarkOf, markName, openMarkOf } from '../meter-marks.ts';
import { receivedName, roomName } from './items.ts';

/** A grant that the item of a meter has not received: what it has received before, and will have. */
export type Grant = { seen: number; to: number };
/** By the index of the hold. */
export type Grants = (Grant | undefined)[];

/** Takes nanos from a room, with what is received in the same write. An absent room is 0. */
const takingFrom = (hold: Hold, nanos: number, grant: Grant = { seen: 0, to: 0 }): Write => {
  const received = grant.to - grant.seen;
  const room = roomName(hold);
  const hasRoom: Condition = [room, received < nanos ? '>=' : '>= or absent', nanos - received];
  return {
    add: { [room]: received - nanos },
    ...(received > 0 && { set: { [receivedName(hold)]: grant.to } }),
    conditions: [
      ...(nanos > 0 ? [hasRoom] : []),
      ...(received > 0 ? [counts(receivedName(hold), grant.seen)] : []),
    ],
  };
};

const taking = (holds: readonly Hold[], nanos: number, grants: Grants): Write =>
  holds.map((hold, index) => takingFrom(hold, nanos, grants[index])).reduce(joined, {});

/** What a reserve also does to take a lease. `past`: counters of periods that are over, which it removes. */
export const leasing = (
  { holds, nanos }: Lease,
  { grants, past }: { grants: Grants; past: string[] },
): Write => ({ ...taking(holds, nanos, grants), remove: past });

/** Changes the lease of a unit: the mark has another one then, so that a repeat changes nothing. */
export const changingLease = (
  unit: LeasedUnit,
  { to, taken, grants }: { to: number; taken: number; grants: Grants },
): Write => {
  const mark = markName(unit.requestId);
  return joined(
    {
      set: { [mark]: leasedMarkOf(unit, { nanos: to }) },
      conditions: [[mark, '=', openMarkOf(unit)]],
    },
    taking(unit.lease.holds, taken, grants),
  );
};
