import { type Model, nameOf, type Target } from '../catalog/catalog.ts';
import { usualPriceOf } from '../catalog/usual-price.ts';
import type { ShareStore, StoredQueue } from '../stores/notes.ts';
import { type Clock, dayOf, MINUTE_MS } from '../support/clock.ts';
import type { RandomBytes } from '../support/ids.ts';
import { createLruCache, oncePer } from '../support/memo.ts';

/** How one request's targets compare by what its model prefers. */
export type Preferred = {
  by: 'speed' | 'price';
  /** Its place within its tier, the lowest first; those of equal rank are in the order of the session. */
  rankOf(target: Target): number;
  /** `nameOf` of the target that served the session in the last ten minutes. */
  kept: string | undefined;
  /** By `nameOf`: milliseconds to the first content, or dollars a million tokens. A target without a figure is absent. */
  figures: Record<string, number>;
  /** Notes who served it, and after how many milliseconds its stream had its first content. */
  served(target: Target, firstContentMs: number | undefined): void;
};

/** Undefined for a model without a preference. */
export type Prefer = (model: Model, session: string) => Preferred | undefined;

/** A prompt cache lasts five minutes at most vendors, an hour at some. */
const SESSION_MS = 10 * MINUTE_MS;
const MAX_SESSIONS = 5_000;

// --- speed ---

/** A target leaves the fastest of its tier when it is a fifth slower than the first of them, and is one again within a tenth. */
const LEAVES = 1.2;
const RETURNS = 1.1;
/** The median is that of the latest. */
const MOST_SAMPLES = 15;
const FEW_SAMPLES = 5;
/** A target that is not called has no figure after it, and gets its part of the sessions until it has one again. */
const FIGURE_MS = 10 * MINUTE_MS;
const READ_EACH_MS = 5_000;
const WRITE_EACH_MS = 30_000;
const MAX_TRIES = 3;

/** Of a target, as all processes share it. */
type Figure = { at: number; isSlow: boolean; samples: number[] };
type Figures = Record<string, Figure>;

/** Empty for a text that is none of this release. */
const figuresIn = (text: string | undefined): Figures => {
  try {
    const rows: [string, number, number, number[]][] = JSON.parse(text ?? '[]');
    return Object.fromEntries(
      rows.map(([name, at, isSlow, samples]) => [name, { at, isSlow: isSlow === 1, samples }]),
    );
  } catch {
    return {};
  }
};

const textOf = (figures: Figures): string =>
  JSON.stringify(
    Object.entries(figures).map(([name, { at, isSlow, samples }]) => [
      ...[name, at, Number(isSlow), samples],
    ]),
  );

const medianOf = ({ samples }: Figure): number =>
  samples.toSorted((one, other) => one - other)[samples.length >> 1] ?? Number.POSITIVE_INFINITY;

const freshIn = (figures: Figures, now: number): Figures =>
  Object.fromEntries(Object.entries(figures).filter(([, { at }]) => now - at < FIGURE_MS));

/** The figures with new samples, and who is slow by them in its tier. */
const withSamples = (
  before: Figures,
  samples: ReadonlyMap<string, number[]>,
  { targets, now }: { targets: Target[]; now: number },
): Figures => {
  const figures = freshIn(before, now);
  for (const [name, own] of samples) {
    const { isSlow = false, samples: earlier = [] } = figures[name] ?? {};
    figures[name] = { at: now, isSlow, samples: [...earlier, ...own].slice(-MOST_SAMPLES) };
  }
  for (const tier of new Set(targets.map((target) => target.tier))) {
    const rivals = targets
      .filter((target) => target.tier === tier)
      .flatMap((target) => figures[nameOf(target)] ?? []);
    const best = Math.min(...rivals.map(medianOf));
    for (const rival of rivals) {
      rival.isSlow = medianOf(rival) > best * (rival.isSlow ? RETURNS : LEAVES);
    }
  }
  return figures;
};

/** What this process knows of a model's speed. */
type Line = {
  stored: StoredQueue | undefined;
  figures: Figures;
  readAt: number;
  isWriting: boolean;
  pending: Map<string, number[]>;
};

const lineOf = (): Line => ({
  ...{ stored: undefined, figures: {}, pending: new Map() },
  ...{ readAt: Number.NEGATIVE_INFINITY, isWriting: false },
});

type Parts = {
  /** @default what each process has seen counts for it alone */
  store: ShareStore | undefined;
  clock: Clock;
  randomBytes: RandomBytes;
};

/** Keeps, for a model, the medians of its targets in one item, so that all processes have the same order. */
const createSpeeds = ({ store, clock, randomBytes }: Parts) => {
  const lines = oncePer(new Map<string, Line>(), () => lineOf());
  const itemOf = ({ id }: Model): string => `speed/${id}`;

  const keep = (line: Line, stored: StoredQueue | undefined): void => {
    line.stored = stored;
    line.figures = figuresIn(stored?.text);
    line.readAt = clock.now();
  };

  const read = async (model: Model, line: Line): Promise<void> => {
    line.readAt = clock.now();
    if (store) keep(line, await store.readQueue(itemOf(model)));
  };

  const write = async (model: Model, line: Line): Promise<void> => {
    const samples = line.pending;
    line.pending = new Map();
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const places = { targets: model.targets, now: clock.now() };
      line.figures = withSamples(line.figures, samples, places);
      if (!store) return;
      const next = { text: textOf(line.figures), by: Buffer.from(randomBytes(8)).toString('hex') };
      const written = await store.writeQueue(itemOf(model), next, line.stored?.version ?? 0);
      keep(line, written.stored);
      if (written.isWritten) return;
    }
  };

  const isDue = ({ figures, pending }: Line, now: number): boolean =>
    [...pending.keys()].some((name) => {
      const { at = 0, samples = [] } = figures[name] ?? {};
      return samples.length < FEW_SAMPLES || now - at >= WRITE_EACH_MS;
    });

  return {
    figuresOf: (model: Model): Figures => {
      const line = lines(model.id);
      const now = clock.now();
      // Without the table the order is that of the latest figures, then of the weights.
      if (now - line.readAt >= READ_EACH_MS) void read(model, line).catch(() => {});
      return freshIn(line.figures, now);
    },
    note: (model: Model, target: Target, ms: number): void => {
      const line = lines(model.id);
      const name = nameOf(target);
      line.pending.set(name, [...(line.pending.get(name) ?? []), ms].slice(-MOST_SAMPLES));
      if (line.isWriting || !isDue(line, clock.now())) return;
      line.isWriting = true;
      void write(model, line)
        .catch(() => {})
        .finally(() => {
          line.isWriting = false;
        });
    },
  };
};

// --- both ---

type Kept = { name: string; at: number };
type Order = Pick<Preferred, 'rankOf' | 'figures'>;

/** Orders the targets of a tier by what their model prefers. A session stays where it was served while a cache may hold it. */
export const createPrefer = (parts: Parts): Prefer => {
  const { clock } = parts;
  const speeds = createSpeeds(parts);
  const sessions = createLruCache<Kept>(MAX_SESSIONS);

  const orders: Record<Preferred['by'], (model: Model) => Order> = {
    price: (model) => {
      const day = dayOf(clock.now());
      const rankOf = (target: Target) => usualPriceOf(model, target, day);
      const all = model.targets.map((target) => [nameOf(target), rankOf(target)] as const);
      return { rankOf, figures: Object.fromEntries(all.filter(([, price]) => price < Infinity)) };
    },
    speed: (model) => {
      const figures = speeds.figuresOf(model);
      const medians = Object.entries(figures).map(([name, one]) => [name, medianOf(one)] as const);
      const rankOf = (target: Target): number => {
        const figure = figures[nameOf(target)];
        return figure?.isSlow ? medianOf(figure) : 0;
      };
      return { rankOf, figures: Object.fromEntries(medians) };
    },
  };

  return (model, session) => {
    const { prefer: by } = model;
    if (!by) return undefined;
    const place = `${model.id} ${session}`;
    const kept = sessions.get(place);
    return {
      ...{ by, ...orders[by](model) },
      kept: kept && clock.now() - kept.at < SESSION_MS ? kept.name : undefined,
      served: (target, firstContentMs) => {
        sessions.set(place, { name: nameOf(target), at: clock.now() });
        if (by === 'speed' && firstContentMs !== undefined) {
          speeds.note(model, target, firstContentMs);
        }
      },
    };
  };
};
