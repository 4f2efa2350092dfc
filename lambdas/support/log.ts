/** Fields are named one by one by the caller: ids, counts and milliseconds, never bodies or headers. */
export type LogFields = Record<string, string | number | boolean | undefined>;

export type Log = {
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
};

/** One JSON object a line; `write` is `process.stdout.write` in the entries. */
export const createLog = (write: (line: string) => void): Log => {
  const at =
    (level: string) =>
    (event: string, fields: LogFields = {}) =>
      write(`${JSON.stringify({ level, event, ...fields })}\n`);
  return { info: at('info'), warn: at('warn'), error: at('error') };
};
