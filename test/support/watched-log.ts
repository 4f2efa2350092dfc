import { DEFAULT_MAX_SERIES, labelsOf } from '../../lambdas/metrics.ts';
import type { Clock } from '../../lambdas/support/clock.ts';
import { createLog, type Log } from '../../lambdas/support/log.ts';
import { createTelemetry } from '../../lambdas/telemetry/create-telemetry.ts';
import { watchLine } from './leak-watch.ts';
import { linesIn } from './log-line.ts';

type Labelled = Parameters<typeof labelsOf>[0];

/** A log whose lines, and the metrics that are made of them, are looked at for leaks. */
export const createWatchedLog = (
  models: Labelled,
  clock: Clock,
  write: (line: string) => void = () => undefined,
): Log => {
  const shown = createLog((line) => {
    watchLine(line);
    write(line);
  });
  const counted = createTelemetry({
    stage: 'test',
    labels: labelsOf(models, DEFAULT_MAX_SERIES),
    clock,
    write: (text) => {
      for (const line of linesIn(text)) if (line.includes('"_aws"')) watchLine(line);
    },
  });
  const both =
    (level: keyof Log): Log[typeof level] =>
    (event, fields) => {
      shown[level](event, fields);
      counted[level](event, fields);
    };
  return { info: both('info'), warn: both('warn'), error: both('error') };
};
