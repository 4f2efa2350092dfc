import { formatSse } from '../../lambdas/protocols/sse.ts';
import type { Answer } from './answer.ts';
import type { Fault } from './faults.ts';
import { cutPoint, cutShort, refuse } from './misbehave.ts';
import { play } from './play.ts';
import type { ResponseWriter } from './response-writer.ts';
import { PAUSE, STREAM_ODDITIES } from './stream-oddities.ts';

/** Until what was said has been read: a reset takes back what is still on its way. */
const SETTLE_MS = 20;

const isSplit = (fault: Fault | undefined): boolean =>
  fault?.kind === 'stream' && fault.as === 'bytes';

const streamed = async (answer: Answer, exchange: ResponseWriter): Promise<void> => {
  const { fault } = answer;
  const encoder = answer.protocol.streamEncoder(answer.request, answer.label);
  const events = play(answer.generation);
  const told = fault?.kind === 'truncate' ? events.slice(0, -1) : events;
  const texts = told.flatMap((event) => encoder.push(event)).map(formatSse);
  const cut = cutPoint(fault, texts.length);
  const chunks =
    fault?.kind === 'stream'
      ? STREAM_ODDITIES[fault.as](texts, answer.protocol.name)
      : texts.slice(0, cut);
  exchange.head(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  // A pause behind every byte would take a minute for a sentence.
  const pace = isSplit(fault) ? 0 : answer.delayMs;
  for (const text of chunks) {
    await exchange.wait(text === PAUSE ? SETTLE_MS : pace);
    await exchange.write(text);
    if (exchange.gone) return;
  }
  if (cut === undefined) return exchange.end();
  if (cut > 0) await exchange.wait(SETTLE_MS);
  await cutShort(fault, exchange, answer);
};

const whole = async (answer: Answer, exchange: ResponseWriter): Promise<void> => {
  const { fault, generation, request, label } = answer;
  const text = JSON.stringify(answer.protocol.encodeResponse(generation, request, label));
  exchange.head(200, { 'content-type': 'application/json' });
  await exchange.wait(answer.delayMs);
  if (cutPoint(fault, 0) === undefined) return exchange.end(text);
  await exchange.write(text.slice(0, text.length / 2));
  await cutShort(fault, exchange, answer);
};

/** Answers one call as its protocol would, or as the fault wants it. */
export const giveAnswer = async (answer: Answer, exchange: ResponseWriter): Promise<void> => {
  if (await refuse(answer.fault, exchange, answer)) return;
  await (answer.request.stream ? streamed(answer, exchange) : whole(answer, exchange));
};
