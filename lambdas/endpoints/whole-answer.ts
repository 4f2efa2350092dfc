import { collect } from '../protocols/collect.ts';
import type { Label } from '../protocols/generation.ts';
import type { JsonReply } from './endpoint.ts';
import { type Answering, fetchAnswer } from './open-answer.ts';
import { endOf, publicError } from './public-error.ts';
import type { Settlement } from './settlement.ts';

/**
 * Answers in one piece. The upstream streams all the same: a stream shows that it is alive, and that it
 * was not cut short.
 * @throws ApiError
 */
export const wholeAnswer = async (
  answering: Answering,
  label: Label,
  settlement: Settlement,
): Promise<JsonReply> => {
  const { call, request } = answering;
  const { batches, dispose } = fetchAnswer(answering);
  try {
    const generation = await collect(await batches);
    await settlement.commit();
    call.note({ outcome: 'finished' });
    return { status: 200, body: call.protocol.encodeResponse(generation, request, label) };
  } catch (error) {
    call.note(endOf(error));
    throw publicError(error);
  } finally {
    dispose();
  }
};
