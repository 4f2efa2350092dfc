import type { LogEvent, LogEvents } from '../log-events.ts';

type Say = <E extends LogEvent>(event: E, fields: LogEvents[E]) => void;

export type Log = { info: Say; warn: Say; error: Say };

/** One JSON object a line; `write` is `process.stdout.write` in the entries. */
export const createLog = (write: (line: string) => void): Log => {
  const at =
    (level: keyof Log): Say =>
    (event, fields) =>
      write(`${JSON.stringify({ level, event, ...fields })}\n`);
  return { info: at('info'), warn: at('warn'), error: at('error') };
};
