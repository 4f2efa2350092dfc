import { collect } from '../protocols/collect.ts';
import type { JsonReply } from './endpoint.ts';
import type { PendingAnswer } from './pending-answer.ts';
import { endOf } from './public-error.ts';

const collectReply = async (answer: PendingAnswer): Promise<JsonReply> => {
  const { fetched, settlement, label } = answer;
  const { call, request } = answer.checked;
  try {
    const generation = await collect(await fetched.batches);
    await settlement.commit();
    call.note({ outcome: 'finished' });
    return { status: 200, body: call.protocol.encodeResponse(generation, request, label) };
  } catch (error) {
    call.note(endOf(error));
    throw error;
  } finally {
    fetched.dispose();
  }
};

/**
 * Answers in one piece. The upstream streams all the same: a stream shows that it is alive, and that it
 * was not cut short.
 * @throws UpstreamError or ApiError, with the unit still to be settled
 */
export const wholeAnswer = async (answer: PendingAnswer): Promise<JsonReply> => {
  const reply = await collectReply(answer);
  await answer.settlement.endSoon();
  return reply;
};
