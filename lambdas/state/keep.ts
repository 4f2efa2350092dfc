import type { EncodedReply, Keeper } from '../endpoints/endpoint.ts';
import type { CallerProtocol } from '../protocols/protocol.ts';
import type { MessageBatches } from '../protocols/streams/sse.ts';
import { createMark, type Marks, markWhole, responseIn } from './mark.ts';

export type KeepParts = {
  marks: Marks;
  protocol: Pick<CallerProtocol, 'isTerminal'>;
  /** Stores a response, as JSON; false if that failed. */
  store(json: string): Promise<boolean>;
};

/** The response is sent, and truthfully is not stored. */
const UNSTORED = { store: false };

/** Marks a response, and stores it before its end is sent, so that the next request finds it. */
export const createStateKeeper = (
  { marks, protocol, store }: KeepParts,
  next: Keeper | undefined,
): Keeper => {
  async function* keep(messages: MessageBatches): MessageBatches {
    const mark = createMark(marks);
    for await (const batch of messages) {
      const marked = batch.map((message) => mark(message));
      const end = marks.store ? marked.findIndex(protocol.isTerminal) : -1;
      const last = marked[end];
      if (last && !(await store(JSON.stringify(responseIn(last) ?? {}))))
        marked[end] = mark(last, UNSTORED);
      yield marked;
    }
  }
  const keepMarked = async (reply: EncodedReply): Promise<EncodedReply> => {
    const json = markWhole(reply.json, marks);
    if (!marks.store || (await store(json))) return { ...reply, json };
    return { ...reply, json: markWhole(json, UNSTORED) };
  };
  return {
    keepStream: (messages, cost) => {
      const kept = keep(messages);
      return next ? next.keepStream(kept, cost) : kept;
    },
    keepWhole: async (reply, cost) => {
      const kept = await keepMarked(reply);
      return next ? next.keepWhole(kept, cost) : kept;
    },
  };
};
