import { asNotSent } from '../store-unavailable.ts';
import type { Item, WriteResult } from './table.ts';

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
export const createGroups = <Member>({
  writesInFlight,
  sendOne,
  sendAll,
}: {
  writesInFlight: number;
  sendOne(member: Member): Promise<WriteResult>;
  /** Undefined if the members have no write in common, or the item no room for all. */
  sendAll(members: Member[], item: Item | undefined): Promise<WriteResult> | undefined;
}) => {
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
