import type { LogEvent, LogFields } from '../../lambdas/log-events.ts';
import type { Log } from '../../lambdas/support/log.ts';

/** A line of the log. Typed, so that no test looks for an event that nobody writes. */
export type LogLine = { level: keyof Log; event: LogEvent } & LogFields;

/** The lines that one write of a log holds. */
export const linesIn = (text: string): string[] => text.trimEnd().split('\n');

export const parseLine = (line: string): LogLine => JSON.parse(line) as LogLine;
