import type { LogEvents } from '../log-events.ts';

/** Causes nest two or three deep; a longer chain is a loop. */
const MAX_CAUSES = 5;

const TELLING = ['kind', 'status', 'code'] as const;

const nameOf = (error: Error): string => {
  const details = TELLING.map((key) => (key in error ? Reflect.get(error, key) : undefined)).filter(
    (value) => typeof value === 'string' || typeof value === 'number',
  );
  return details.length > 0 ? `${error.name}(${details.join(' ')})` : error.name;
};

const chainOf = (error: unknown): Error[] => {
  const chain: Error[] = [];
  let next = error;
  while (next instanceof Error && chain.length < MAX_CAUSES) {
    chain.push(next);
    next = next.cause;
  }
  return chain;
};

/** Bounded: without a bound the time grows with the square of the line's length. */
const LAST_SEGMENT = /([^/\\\s(]{1,100}:\d{1,9}:\d{1,9})\)?$/;

/** File, line and column of the first stack frame; no directories, and not the message above it. */
const originOf = ({ stack = '', message }: Error): string | undefined => {
  // A message may have lines like those of a frame; one that was changed later cannot be distinguished from them.
  const frames = stack.includes(message)
    ? stack.slice(stack.indexOf(message) + message.length)
    : '';
  const frame = frames.split('\n').find((line) => /^\s+at /.test(line));
  return frame && LAST_SEGMENT.exec(frame)?.[1];
};

/**
 * What a log may know of a failure: names, kinds, statuses and codes along the chain of causes, and the
 * place. Never a message: those may quote a caller or an upstream.
 */
export const describeFailure = (error: unknown): Omit<LogEvents['request_failed'], 'requestId'> => {
  const chain = chainOf(error);
  const innermost = chain.at(-1);
  if (!innermost) return { failure: typeof error };
  return { failure: chain.map(nameOf).join(' < '), origin: originOf(innermost) };
};
