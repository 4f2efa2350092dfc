import type { LogEvent, LogFields } from '../../lambdas/log-events.ts';
import type { Log } from '../../lambdas/support/log.ts';

/** A line of the log. Typed, so that no test looks for an event that nobody writes. */
export type LogLine = { level: keyof Log; event: LogEvent } & LogFields;

export const parseLine = (line: string): LogLine => JSON.parse(line) as LogLine;
