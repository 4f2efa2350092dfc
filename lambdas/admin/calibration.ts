import type { Receipt } from '../catalog/calibrate.ts';
import type { Target } from '../catalog/catalog.ts';
import type { RequestRecord } from '../stores/record-store.ts';
import { mergeDescending } from '../support/async-lists.ts';
import { DAY_MS } from '../support/clock.ts';
import { invalidRequest } from '../support/errors.ts';
import { MAX_RECORD_DAYS } from '../tables.ts';
import { keptRange } from './input.ts';
import type { Operation, OperationParts } from './operation.ts';
import { readPage } from './page.ts';
import { projectsSeenBy } from './projects.ts';
import { placeOf } from './recent.ts';
import { type Placed, placedTargets } from './targets.ts';

/** The newest receipts that are read: a fit of more takes longer and is hardly better. */
const MAX_RECEIPTS = 300;

const percent = (share: number): number => Math.round(share * 1_000) / 10;

/** Whether the provider counted a prompt whose counts were kept. */
const isReceipt = ({ promptCounts, inputTokens = 0 }: RequestRecord): boolean =>
  promptCounts !== undefined && inputTokens > 0;

const isOn = ({ attempts }: RequestRecord, { upstream, model }: Target): boolean =>
  attempts.at(-1)?.upstream === upstream && attempts.at(-1)?.model === model;

const receiptOf = ({ promptCounts = [], inputTokens = 0 }: RequestRecord): Receipt => ({
  counts: promptCounts,
  tokens: inputTokens,
});

/** What each target counts per message, tool and text, by what its provider has counted. */
export const createCalibration = (parts: OperationParts) => {
  const { models, records, projects, calibrate, clock } = parts;

  const publicCalibration = ({ place, target }: Placed, found: RequestRecord[]) => {
    const receipts = found.filter((record) => isOn(record, target)).map(receiptOf);
    const about = {
      place,
      target: `${target.upstream}/${target.model}`,
      receipts: receipts.length,
    };
    const fitted = calibrate(receipts, target);
    if (!fitted) return { ...about, counting: null };
    const { before, after, framing } = fitted;
    return {
      ...about,
      median_error_before: percent(before.median),
      p90_error_before: percent(before.p90),
      median_error_after: percent(after.median),
      p90_error_after: percent(after.p90),
      counting: { ...target.counting, framing },
    };
  };

  const calibration = (async ({ query, identity }) => {
    const now = clock.now();
    const { model: id, since = now - 30 * DAY_MS } = query;
    const isWanted = (model: string) => id === undefined || id === model;
    const targets = placedTargets(models).filter(({ model }) => isWanted(model.id));
    if (id !== undefined && targets.length === 0) {
      throw invalidRequest(`The catalog has no model '${id}'.`, { param: 'model' });
    }
    const range = keptRange({ since }, MAX_RECORD_DAYS + 1, now);
    const sources = (await projectsSeenBy(projects, identity)).map((projectId) =>
      records.listRecords({ projectId, ...range }),
    );
    const { data: found } = await readPage<RequestRecord>(mergeDescending(sources, placeOf), {
      limit: MAX_RECEIPTS,
      placeOf,
      isWanted: (record) => isWanted(record.model) && isReceipt(record),
    });
    return { status: 200, body: { data: targets.map((each) => publicCalibration(each, found)) } };
  }) satisfies Operation<'calibration'>;
  return { calibration };
};
