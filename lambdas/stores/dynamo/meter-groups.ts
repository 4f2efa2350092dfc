import { leasing } from '#late/leases';
import type { Reservation, ReservedUnit } from '../meter-store.ts';
import { asNotSent } from '../store-unavailable.ts';
import type { LeaseParts } from './budgets/leases.ts';
import { joined } from './item-write.ts';
import { numberIn } from './meter-item.ts';
import { markName } from './meter-marks.ts';
import {
  belowBudgets,
  budgetsIn,
  countersOf,
  type Place,
  type PlanLimits,
  placeKey,
  type Sharding,
} from './meter-shards.ts';
import { belowLimits, reserve, type SettleAs, settle } from './meter-writes.ts';
import type { Item, Table, WriteResult } from './table.ts';

/** Members of one write; its expressions stay below DynamoDB's 4 KB. */
const MAX_GROUP = 40;

type Group<Member> = { members: Member[]; result: Promise<WriteResult | undefined> };
type Queue<Member> = {
  inFlight: Set<Promise<WriteResult | undefined>>;
  /** The item as the last write left it. */
  item: Item | undefined;
  /** Waits until a write in flight ends. */
  next: Group<Member> | undefined;
};

/**
 * Group commit: writes of one item that would be in flight with `writesInFlight` others of this process wait for one of
 * them, and travel as one. If its condition fails, each is sent alone. Writes that wait for one that fails are not sent.
 */
const createGroups = <Member>(parts: {
  writesInFlight: number;
  sendOne(member: Member): Promise<WriteResult>;
  /** Undefined if the members have no write in common, or the item no room for all. */
  sendAll(members: Member[], item: Item | undefined): Promise<WriteResult> | undefined;
}) => {
  const { writesInFlight, sendOne, sendAll } = parts;
  const queues = new Map<string, Queue<Member>>();

  const track = <Result extends WriteResult | undefined>(
    name: string,
    queue: Queue<Member>,
    write: Promise<Result>,
  ): Promise<Result> => {
    const end = (result?: WriteResult) => {
      queue.inFlight.delete(write);
      queue.item = result?.item;
      if (queue.inFlight.size === 0 && !queue.next) queues.delete(name);
    };
    queue.inFlight.add(write);
    write.then(end, () => end());
    return write;
  };

  /** A group that is sent when a write in flight ends. */
  const open = (name: string, queue: Queue<Member>): Group<Member> => {
    const send = async () => {
      try {
        await Promise.race(queue.inFlight);
      } catch (error) {
        throw asNotSent(error);
      } finally {
        if (queue.next === group) queue.next = undefined;
      }
      return track(name, queue, Promise.resolve(sendAll(group.members, queue.item)));
    };
    const group: Group<Member> = { members: [], result: Promise.resolve(undefined) };
    group.result = send();
    return group;
  };

  /** Sends one write of an item; `others` are the members behind this one in its group. */
  return async (name: string, member: Member): Promise<WriteResult & { others: number }> => {
    const queue = queues.get(name) ?? { inFlight: new Set(), item: undefined, next: undefined };
    queues.set(name, queue);
    if (queue.inFlight.size < writesInFlight) {
      return { ...(await track(name, queue, sendOne(member))), others: 0 };
    }
    if (!queue.next || queue.next.members.length >= MAX_GROUP) queue.next = open(name, queue);
    const { members, result } = queue.next;
    const place = members.push(member);
    const joint = await result;
    if (joint?.applied) return { ...joint, others: members.length - place };
    // An earlier copy of it may be why it was not applied.
    return { ...(joint?.mayBeDuplicated ? joint : await sendOne(member)), others: 0 };
  };
};

type GroupParts = { table: Table; sharding: Pick<Sharding, 'marksPerItem' | 'writesInFlight'> };

/** Whether two of them have the same mark, which one write cannot set twice. */
const shareMark = (units: ReservedUnit[]): boolean =>
  new Set(units.map(({ requestId }) => markName(requestId))).size < units.length;

type Try = { reservation: Reservation; place: Place; parts?: LeaseParts | undefined };

const NO_PARTS: LeaseParts = { grants: [], past: [] };

/** Reservations that may be one write: of one item, key and window, under the same limits. */
const reserveGroup = ({ reservation, place }: Try): string => {
  const { keyId, minute, period, rpm, quota, concurrency } = reservation;
  const same = [place.epoch, keyId, minute, period, rpm, quota, concurrency];
  return [placeKey(reservation, place), ...same].join('|');
};

/** Sends reserves, several of one item as one write. */
export const createReserveGroups = ({
  table,
  sharding: { marksPerItem, writesInFlight },
}: GroupParts) => {
  const atMost = ({ rpm, quota, concurrency = marksPerItem }: PlanLimits): PlanLimits => ({
    ...{ rpm, quota },
    concurrency: Math.min(concurrency, marksPerItem),
  });

  const sendOne = ({ reservation, place, parts = NO_PARTS }: Try) => {
    const { epoch } = place;
    const bounds =
      epoch === undefined
        ? belowLimits(countersOf(reservation, atMost(reservation)), 1)
        : belowBudgets(reservation, epoch, marksPerItem);
    const unleased = reserve(reservation, { epoch, bounds });
    const { lease } = reservation;
    const write = lease ? joined(unleased, leasing(lease, parts)) : unleased;
    return table.apply(placeKey(reservation, place), write);
  };

  const sendAll = (tries: Try[], item: Item | undefined) => {
    const [first] = tries;
    const reservations = tries.map(({ reservation }) => reservation);
    if (!first || shareMark(reservations)) return undefined;
    const { reservation, place } = first;
    const { epoch } = place;
    const limits = atMost(epoch === undefined ? reservation : budgetsIn(item, epoch, reservation));
    const counters = countersOf(reservation, limits);
    const requests = tries.length;
    if (counters.some(({ name, limit }) => limit - numberIn(item, name) < requests)) {
      return undefined;
    }
    const bounds = belowLimits(counters, requests);
    const write = reserve(reservation, { reservations, epoch, bounds });
    return table.apply(placeKey(reservation, place), write);
  };

  const send = createGroups({ writesInFlight, sendOne, sendAll });
  return async (reservation: Reservation, place: Place, parts?: LeaseParts) => {
    const one = { reservation, place, parts };
    // Leases differ, so their writes have nothing in common.
    return reservation.lease
      ? { ...(await sendOne(one)), others: 0 }
      : send(reserveGroup(one), one);
  };
};

/** Sends charges or refunds of units in the item `key`, several of one minute and period as one write. */
export const createSettleGroups = ({ table, sharding: { writesInFlight } }: GroupParts) => {
  type Settlement = { unit: ReservedUnit; key: string; as: SettleAs };

  const sendOne = ({ unit, key, as }: Settlement) => table.apply(key, settle(unit, as));

  const sendAll = (settlements: Settlement[]) => {
    const [first] = settlements;
    const units = settlements.map(({ unit }) => unit);
    if (!first || shareMark(units)) return undefined;
    return table.apply(first.key, settle(first.unit, first.as, { units }));
  };

  const send = createGroups({ writesInFlight, sendOne, sendAll });
  return (unit: ReservedUnit, key: string, as: SettleAs): Promise<WriteResult> => {
    const one = { unit, key, as };
    if (unit.lease) return sendOne(one);
    return send([key, as, unit.minute, unit.period].join('|'), one);
  };
};
