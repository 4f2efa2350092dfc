import { asNotSent } from '../store-unavailable.ts';
import type { Item, WriteResult } from './table.ts';

/** Members of one write; its expressions stay below DynamoDB's 4 KB. */
export const MAX_GROUP = 40;

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
export const createGroups = <Member>(parts: {
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
