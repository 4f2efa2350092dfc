import type { Hold, Lease } from '../../budget-store.ts';
import type { LeasedUnit } from '../../meter-store.ts';
import { leasedMarkOf } from '../meter-marks.ts';
import { bindRemoved, bindUnit } from '../meter-writes.ts';
import type { Bindings, ConditionalWrite } from '../table.ts';
import { receivedName, roomName } from './items.ts';

type Write = { write: ConditionalWrite; bindings: Bindings };

/** A grant that the item of a meter has not received: what it has received before, and will have. */
export type Grant = { seen: number; to: number };
/** By the index of the hold. */
export type Grants = (Grant | undefined)[];

/** Takes the same amount from each room, with what is received in the same write. */
const taking = (holds: readonly Hold[], nanos: number, grants: Grants) => {
  const parts = { sets: [] as string[], adds: [] as string[], conditions: [] as string[] };
  const bindings = { names: {} as Record<string, string>, values: {} as Record<string, number> };
  for (const [index, hold] of holds.entries()) {
    const grant = grants[index];
    const received = grant ? grant.to - grant.seen : 0;
    bindings.names[`#room${index}`] = roomName(hold);
    bindings.values[`:change${index}`] = received - nanos;
    parts.adds.push(`#room${index} :change${index}`);
    if (nanos > 0) {
      bindings.values[`:needed${index}`] = nanos - received;
      const hasRoom = `#room${index} >= :needed${index}`;
      // An absent room is 0.
      parts.conditions.push(
        received < nanos ? hasRoom : `(attribute_not_exists(#room${index}) OR ${hasRoom})`,
      );
    }
    if (grant) {
      bindings.names[`#received${index}`] = receivedName(hold);
      bindings.values[`:seen${index}`] = grant.seen;
      bindings.values[`:to${index}`] = grant.to;
      parts.sets.push(`#received${index} = :to${index}`);
      const isSeen = `#received${index} = :seen${index}`;
      parts.conditions.push(
        grant.seen > 0 ? isSeen : `(attribute_not_exists(#received${index}) OR ${isSeen})`,
      );
    }
  }
  return { ...parts, bindings };
};

/** A reserve that also takes a lease. `past`: counters of periods that are over, which it removes. */
export const leasing = (
  { write, bindings }: Write,
  { holds, nanos }: Lease,
  { grants, past }: { grants: Grants; past: string[] },
): Write => {
  const { sets, adds, conditions, bindings: added } = taking(holds, nanos, grants);
  const removed = bindRemoved(past);
  const removal = past.length > 0 ? ` REMOVE ${Object.keys(removed).join(', ')}` : '';
  const set = sets.map((part) => `${part}, `).join('');
  return {
    write: {
      update: [write.update.replace('SET ', `SET ${set}`), ...adds].join(', ') + removal,
      condition: [write.condition, ...conditions].join(' AND '),
    },
    bindings: {
      names: { ...bindings.names, ...added.names, ...removed },
      values: { ...bindings.values, ...added.values },
    },
  };
};

/** Changes the lease of a unit: the mark has another one then, so that a repeat changes nothing. */
export const changingLease = (
  unit: LeasedUnit,
  { to, taken, grants }: { to: number; taken: number; grants: Grants },
): Write => {
  const { sets, adds, conditions, bindings } = taking(unit.lease.holds, taken, grants);
  const own = bindUnit(unit);
  const addition = adds.length > 0 ? ` ADD ${adds.join(', ')}` : '';
  return {
    write: {
      update: `SET ${['#mark = :next', ...sets].join(', ')}${addition}`,
      condition: ['#mark = :open', ...conditions].join(' AND '),
    },
    bindings: {
      names: { ...own.names, ...bindings.names },
      values: { ...own.values, ...bindings.values, ':next': leasedMarkOf(unit, { nanos: to }) },
    },
  };
};
