import type { KindCosts } from '../money/cost.ts';

/** Two years and a quarter of a year: a year can be compared with the one before. */
export const HISTORY_DAYS = 820;

/** Sums of one key, model and UTC day. */
export type UsageSums = {
  /** Requests that cost a unit. */
  charged: number;
  /** Requests that took a unit and got it back: they failed, were empty or abandoned early. */
  refunded: number;
  /** Requests that took no unit: rejected or denied. A lower bound. */
  refused: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  reasoningTokens: number;
  /** In billionths of a US dollar. */
  costNanos: number;
  /** Part of it that is estimated: of responses that were not read to their end. */
  costEstimatedNanos: number;
  /** Requests of which a part is billed at a price that is not known. */
  incompleteRequests: number;
};

export type UsageRow = UsageSums & {
  projectId: string;
  day: string;
  keyId: string;
  meterId: string;
  /** Empty for requests that were rejected before their model was known. */
  model: string;
  /** Charged units by the label of the meter's period that holds them. */
  periods: Record<string, number>;
  /** Quantity and cost by kind; an older version of the router has written none. */
  kinds?: KindCosts;
};

/** What some of a row's entries add up to. */
export type RowPart = UsageSums & Pick<UsageRow, 'periods' | 'kinds'> & { entries: number };

/** A row as the next run continues it. */
export type FoldedRow = {
  row: UsageRow;
  /** Entries that the row was computed from. */
  entries: number;
  /** Its entries that began before `until` (ms), which are not read again. Undefined once the day is closed. */
  settled?: (RowPart & { until: number }) | undefined;
  /** Number of its last write by a run. */
  version: number;
};

/** The final count of a meter's period, moved here from the meter. */
export type ClosedPeriod = {
  projectId: string;
  meterId: string;
  /** A key of the meter: rotated keys share one. */
  keyId: string;
  period: string;
  used: number;
};

/** Model of the row that holds what the meter charged and no record shows, or the reverse. */
export const UNRECORDED = '(unrecorded)';

/** What places a row among those of its project. */
export type RowPlace = Pick<UsageRow, 'day' | 'keyId' | 'model'>;

/** Days, both included. */
export type DayRange = {
  projectId: string;
  from: string;
  to: string;
  /** The row before the first one. @default none */
  after?: RowPlace | undefined;
};

/** How far a project's history is. */
export type HistoryProgress = {
  /** The last day that cannot change any more. */
  closedDay: string;
  /** When it was last folded (ms). */
  foldedAt: number;
  /** By open day: what began before that instant (ms) is in the rows, and is not read again. */
  settled: Record<string, number>;
  /** The first of the days whose sums by model and key (`DaySums`) are those of the rows, without a gap. @default none */
  summedFrom?: string | undefined;
};

/** Sums of the rows of a project's UTC day by model, or by key of those whose ids end alike. */
export type DaySums = {
  projectId: string;
  day: string;
  of: 'model' | 'key';
  /** The last characters of the keys; of models, by how many characters the keys of the day are apart. */
  end: string;
  /** In the order of `UsageSums`, without corrections. */
  sums: [name: string, sums: number[], kinds: KindCosts][];
  version: number;
};

/** Of whom a request names (record-store.ts), each apart. */
export const DIMENSIONS = ['user', 'session', 'agent', 'client', 'tag'] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/** A project's UTC day by one dimension: the values of the highest cost, and the rest together. */
export type SpentBy = {
  projectId: string;
  day: string;
  dimension: Dimension;
  /** With the sums of entries that began before `until`, and of later ones, in the order of `UsageSums`. */
  values: [value: string, settled: number[], open: number[]][];
  other: [settled: number[], open: number[]];
  /** More names of tags than are kept. */
  hasMore: boolean;
  /** Milliseconds; undefined once the day is closed. */
  until: number | undefined;
  version: number;
};

/** Lists of numbers that add up by place; the names say of what (history/metric-sums.ts). */
export type MetricSums = Record<string, number[]>;

/** What a project's UTC day adds to the metrics. */
export type DayMetrics = {
  projectId: string;
  day: string;
  /** Of entries that began before `until` (ms), and of later ones. */
  settled: MetricSums;
  open: MetricSums;
  /** Undefined once the day is closed. */
  until: number | undefined;
  version: number;
};

/** What all closed days of a project together add to the metrics, until the last one. */
export type TotalMetrics = {
  projectId: string;
  through: string;
  sums: MetricSums;
  /** By month: units of closed periods that the meters charged and no record shows. */
  unrecorded: Record<string, number>;
  version: number;
};

/** Implemented by `createDynamoHistoryStore` (stores/dynamo/history-store.ts). @throws StoreUnavailable */
export type HistoryStore = {
  /**
   * Writes a row that corrects a closed period, which was computed from `entries` entries, unless the stored one was
   * computed from more. They only grow, so that a late or repeated write never undoes a newer one.
   */
  putCorrection(row: UsageRow, entries: number): Promise<void>;
  /** The same rows again, apart from the others. */
  readCorrections(range: DayRange): AsyncGenerator<UsageRow[], void, void>;
  /** A day's rows with what a run needs to continue them. */
  readFolded(projectId: string, day: string): AsyncGenerator<FoldedRow[], void, void>;
  /** Writes the successor of a row that was read in `version - 1`; false if another run has written it since. */
  putFolded(folded: FoldedRow): Promise<boolean>;
  /** A project's rows in the order of days, keys and models, in pages. */
  readRows(range: DayRange): AsyncGenerator<UsageRow[], void, void>;
  /** A project's days by model or by key, in their order. */
  readSums(range: DayRange, of: DaySums['of']): AsyncGenerator<DaySums[], void, void>;
  /** Writes the successor of what was read in `version - 1`; false if another run has written it since. */
  putSums(sums: DaySums): Promise<boolean>;
  /** Undefined if no request of the day named one. */
  findSpent(projectId: string, day: string, dimension: Dimension): Promise<SpentBy | undefined>;
  /** Writes the successor of what was read in `version - 1`; false if another run has written it since. */
  putSpent(spent: SpentBy): Promise<boolean>;
  /** A project's days by one dimension. */
  readSpent(range: DayRange, dimension: Dimension): AsyncGenerator<SpentBy[], void, void>;
  findMetrics(projectId: string, day: string): Promise<DayMetrics | undefined>;
  /** Writes the successor of what was read in `version - 1`; false if another run has written it since. */
  putMetrics(metrics: DayMetrics): Promise<boolean>;
  /** A project's days, in their order. */
  readMetrics(range: Omit<DayRange, 'after'>): AsyncGenerator<DayMetrics[], void, void>;
  findTotalMetrics(projectId: string): Promise<TotalMetrics | undefined>;
  /** The same of all closed days. */
  putTotalMetrics(total: TotalMetrics): Promise<boolean>;
  /** Idempotent: the count of a closed period is final. */
  putPeriod(period: ClosedPeriod): Promise<void>;
  /** A project's closed periods that begin in a month (`2026-11`). */
  readPeriods(projectId: string, month: string): Promise<ClosedPeriod[]>;
  readProgress(projectId: string): Promise<HistoryProgress | undefined>;
  /** Progress never goes back. */
  putProgress(projectId: string, progress: HistoryProgress): Promise<void>;
};
