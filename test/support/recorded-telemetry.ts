import models from '../../lambdas/catalog/models.json' with { type: 'json' };
import { DEFAULT_MAX_SERIES, type Labelled, labelsOf } from '../../lambdas/metrics.ts';
import { type Clock, systemClock } from '../../lambdas/support/clock.ts';
import { createTelemetry } from '../../lambdas/telemetry/create-telemetry.ts';
import { watchLine } from './leak-watch.ts';
import { linesIn } from './log-line.ts';
import { seriesIn } from './metrics.ts';

type Options = { stage: string; clock: Clock; labels: Labelled[] };

/** The log of AWS, and what it has written: lines of facts and lines of metrics. */
export const createRecordedTelemetry = ({
  stage = 'test',
  clock = systemClock,
  labels = labelsOf(models, DEFAULT_MAX_SERIES),
}: Partial<Options> = {}) => {
  const lines: string[] = [];
  const log = createTelemetry({
    stage,
    labels,
    clock,
    write: (text) => {
      for (const line of linesIn(text)) {
        watchLine(line);
        lines.push(line);
      }
    },
  });
  return { log, lines, series: () => seriesIn(lines) };
};
