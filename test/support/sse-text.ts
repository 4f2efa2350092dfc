/** One event of a stream as a caller reads it. */
export type WireEvent = { event?: string; data: string };

export type Json = Record<string, unknown>;

export const parseJson = (data: string): Json => JSON.parse(data) as Json;

/** The events of an SSE text; comments are left out. */
export const readSse = (text: string): WireEvent[] =>
  text
    .split('\n\n')
    .filter((part) => part !== '' && !part.startsWith(':'))
    .map((part) => {
      const lines = part.split('\n');
      const field = (name: string) =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const event = field('event');
      const data = field('data') ?? '';
      return event === undefined ? { data } : { event, data };
    });
