import { leasing } from '#late/leases';
import type { Lease } from '../budget-store.ts';
import type { Reservation, ReservedUnit } from '../meter-store.ts';
import { asNotSent } from '../store-unavailable.ts';
import { roomName } from './budgets/items.ts';
import type { LeaseParts } from './budgets/leases.ts';
import { joined, type Write } from './item-write.ts';
import { EPOCH, itemKey, numberIn } from './meter-item.ts';
import { markName } from './meter-marks.ts';
import { belowBudgets, budgetsIn, type Place, type Sharding } from './meter-shards.ts';
import {
  belowLimits,
  countersOf,
  type PlanLimits,
  reserve,
  type SettleAs,
  settle,
} from './meter-writes.ts';
import type { Item, Table, WriteResult } from './table.ts';

/** Members of one write; its expressions stay below DynamoDB's 4 KB. */
const MAX_GROUP = 40;

/** `sent`: members that the write is of, the first ones. */
type Group<Member> = { members: Member[]; sent: number; result: Promise<WriteResult> };
type Queue<Member> = {
  inFlight: Set<Promise<WriteResult>>;
  /** The item as the last write left it. */
  item: Item | undefined;
  /** Waits until a write in flight ends. */
  next: Group<Member> | undefined;
};

/**
 * Group commit: writes of one item that would be in flight with `atOnce` others of this process wait for one of
 * them, and travel as one, as many as the item has room for, or one by one if they have nothing in common. If it has
 * none then, the others are denied by what it was; else they wait again, or are sent alone if the room is not why the
 * condition failed. Writes that wait for one that fails are not sent.
 */
const createGroups = <Member>(parts: {
  /** Writes of an item that may be in flight before others wait, at least one. */
  atOnce(item: Item | undefined, member: Member): number;
  sendOne(member: Member): Promise<WriteResult>;
  /** Undefined if the members have no write in common. */
  sendAll(members: Member[], item: Item | undefined): Promise<WriteResult> | undefined;
  /** How many members like this one the item has room for. */
  roomIn(item: Item | undefined, member: Member): number;
}) => {
  const { atOnce, sendOne, sendAll, roomIn } = parts;
  const queues = new Map<string, Queue<Member>>();

  const track = (name: string, queue: Queue<Member>, write: Promise<WriteResult>) => {
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
  const openGroup = (name: string, queue: Queue<Member>, first: Member): Group<Member> => {
    const send = async () => {
      try {
        await Promise.race(queue.inFlight);
      } finally {
        if (queue.next === group) queue.next = undefined;
      }
      const fitting = group.members.slice(0, Math.max(1, roomIn(queue.item, first)));
      const joint = fitting.length > 1 ? sendAll(fitting, queue.item) : undefined;
      group.sent = joint ? fitting.length : 1;
      return track(name, queue, joint ?? sendOne(first));
    };
    const group: Group<Member> = { members: [], sent: 0, result: send() };
    return group;
  };

  /** Adds a member to the group that is sent next. */
  const join = (name: string, queue: Queue<Member>, member: Member) => {
    if (!queue.next || queue.next.members.length >= MAX_GROUP) {
      queue.next = openGroup(name, queue, member);
    }
    return { group: queue.next, place: queue.next.members.push(member) };
  };

  /** Sends one write of an item; `others` are the members behind this one in its group. */
  const send = async (name: string, member: Member): Promise<WriteResult & { others: number }> => {
    const queue = queues.get(name) ?? { inFlight: new Set(), item: undefined, next: undefined };
    queues.set(name, queue);
    if (queue.inFlight.size < atOnce(queue.item, member)) {
      return { ...(await track(name, queue, sendOne(member))), others: 0 };
    }
    const { group, place } = join(name, queue, member);
    const joint = await group.result.catch((error) => {
      throw place <= group.sent ? error : asNotSent(error);
    });
    const behind = group.sent - place;
    // An earlier copy of it may be why it was not applied.
    const isDecided = joint.applied || joint.mayBeDuplicated || group.sent === 1;
    if (behind >= 0 && isDecided) return { ...joint, others: joint.applied ? behind : 0 };
    const room = roomIn(joint.item, member);
    if (room < 1) return { ...joint, applied: false, mayBeDuplicated: false, others: 0 };
    if (behind < 0 || room < group.sent) return send(name, member);
    return { ...(await sendOne(member)), others: 0 };
  };
  return send;
};

type GroupParts = { table: Table; sharding: Pick<Sharding, 'marksPerItem' | 'writesInFlight'> };

/** Whether two of them have the same mark, which one write cannot set twice. */
const shareMark = (units: ReservedUnit[]): boolean =>
  new Set(units.map(({ requestId }) => markName(requestId))).size < units.length;

type Try = { reservation: Reservation; place: Place; parts?: LeaseParts | undefined };

/** Of the room of an item, for the leases that one process has in flight: others send theirs at the same time. */
const PART_OF_ROOM = 8;

/** By budget, the leases of this size for which an item has dollars; a model may cost nothing. */
const leasesIn = (item: Item | undefined, { holds, nanos }: Lease): number[] =>
  nanos > 0 ? holds.map((hold) => Math.floor(numberIn(item, roomName(hold)) / nanos)) : [];

const NO_PARTS: LeaseParts = { grants: [], past: [] };

/** Reservations that may be one write: of one item, key and window, under the same limits. */
const reserveGroup = ({ reservation, place }: Try): string => {
  const { keyId, minute, period, rpm, quota, concurrency, lease } = reservation;
  const same = [place.epoch, keyId, minute, period, rpm, quota, concurrency, lease !== undefined];
  return [itemKey(reservation.meterId, place.shard), ...same].join('|');
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

  /** With the item that explains a denial, which not every server returns. */
  const apply = async (key: string, write: Write): Promise<WriteResult> => {
    const result = await table.apply(key, write);
    if (result.applied || result.item) return result;
    const item = await table.read(key).catch((error) => {
      throw asNotSent(error, result);
    });
    return { ...result, item };
  };

  const sendOne = ({ reservation, place, parts = NO_PARTS }: Try) => {
    const { epoch } = place;
    const bounds =
      epoch === undefined
        ? belowLimits(countersOf(reservation, atMost(reservation)), 1)
        : belowBudgets(reservation, epoch, marksPerItem);
    const unleased = reserve(reservation, { epoch, bounds });
    const { lease } = reservation;
    const write = lease ? joined(unleased, leasing(lease, parts)) : unleased;
    return apply(itemKey(reservation.meterId, place.shard), write);
  };

  const countersIn = (item: Item | undefined, { reservation, place: { epoch } }: Try) => {
    const limits = atMost(epoch === undefined ? reservation : budgetsIn(item, epoch, reservation));
    return countersOf(reservation, limits);
  };

  const unitsIn = (item: Item | undefined, one: Try): number =>
    item?.[EPOCH] === one.place.epoch
      ? Math.min(...countersIn(item, one).map(({ name, limit }) => limit - numberIn(item, name)))
      : 0;

  const roomIn = (item: Item | undefined, one: Try): number => {
    const { lease } = one.reservation;
    return Math.min(unitsIn(item, one), ...(lease ? leasesIn(item, lease) : []));
  };

  const sendAll = (tries: Try[], item: Item | undefined) => {
    const [first] = tries;
    const reservations = tries.map(({ reservation }) => reservation);
    // Leases differ, so their writes have nothing in common.
    if (!first || first.reservation.lease || shareMark(reservations)) return undefined;
    const { reservation, place } = first;
    const bounds = belowLimits(countersIn(item, first), tries.length);
    const write = reserve(reservation, { reservations, epoch: place.epoch, bounds });
    return apply(itemKey(reservation.meterId, place.shard), write);
  };

  const atOnce = (item: Item | undefined, one: Try): number =>
    one.reservation.lease
      ? Math.max(writesInFlight, Math.floor(roomIn(item, one) / PART_OF_ROOM))
      : writesInFlight;

  const send = createGroups({ atOnce, sendOne, sendAll, roomIn });
  return async (reservation: Reservation, place: Place, parts?: LeaseParts) => {
    const one = { reservation, place, parts };
    return parts ? { ...(await sendOne(one)), others: 0 } : send(reserveGroup(one), one);
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

  const send = createGroups({
    ...{ atOnce: () => writesInFlight, sendOne, sendAll },
    roomIn: () => MAX_GROUP,
  });
  return (unit: ReservedUnit, key: string, as: SettleAs): Promise<WriteResult> => {
    const one = { unit, key, as };
    if (unit.lease) return sendOne(one);
    return send([key, as, unit.minute, unit.period].join('|'), one);
  };
};
