const LOCALE = 'en';
const COUNT = new Intl.NumberFormat(LOCALE);
const SHORT = new Intl.NumberFormat(LOCALE, { notation: 'compact', maximumFractionDigits: 1 });
const SHORT_FROM = 100_000;

/** A whole number, grouped by thousands. */
export const count = (value: number): string => COUNT.format(value);

/** A whole number in at most five characters from 100,000 on: 1.2M. */
export const shortCount = (value: number): string =>
  value < SHORT_FROM ? COUNT.format(value) : SHORT.format(value);

export const plural = (value: number, noun: string): string =>
  `${count(value)} ${noun}${value === 1 ? '' : 's'}`;

/** Dollars with cents; small amounts with as many digits as they need. */
export const dollars = (value: number): string => {
  if (value === 0) return '$0';
  const digits = value >= 1 ? 2 : Math.min(8, 1 - Math.floor(Math.log10(value)));
  return `$${value.toLocaleString(LOCALE, { minimumFractionDigits: 2, maximumFractionDigits: Math.max(2, digits) })}`;
};

/** A cost of which a part is estimated (`~`), or which is more than is known (`≥`): docs/costs.md. */
export const costText = (sums: {
  cost_usd: number;
  cost_estimated_usd?: number | undefined;
  incomplete_requests?: number | undefined;
}): string => {
  const mark = sums.incomplete_requests ? '≥ ' : sums.cost_estimated_usd ? '~ ' : '';
  return mark + dollars(sums.cost_usd);
};

export const percent = (part: number, whole: number): string =>
  whole === 0 ? '–' : `${Math.round((100 * part) / whole)} %`;

export const milliseconds = (ms: number): string =>
  ms < 10_000 ? `${count(ms)} ms` : `${count(Math.round(ms / 1000))} s`;

const DATE = new Intl.DateTimeFormat(LOCALE, { day: 'numeric', month: 'short', year: 'numeric' });
const DAY = new Intl.DateTimeFormat(LOCALE, { day: 'numeric', month: 'short' });
const TIME = new Intl.DateTimeFormat(LOCALE, {
  ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' },
  timeZoneName: 'short',
});
const UTC = new Intl.DateTimeFormat(LOCALE, {
  timeZone: 'UTC',
  ...{ day: 'numeric', month: 'short', year: 'numeric' },
  ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' },
});
const UTC_DAY = new Intl.DateTimeFormat(LOCALE, {
  timeZone: 'UTC',
  day: 'numeric',
  month: 'short',
});

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
const RELATIVE = new Intl.RelativeTimeFormat(LOCALE, { numeric: 'always', style: 'narrow' });

/** An instant in the reader's zone, which it names; with its year unless that is this one. */
export const localTime = (instant: string, now = Date.now()): string => {
  const date = new Date(instant);
  const isThisYear = date.getFullYear() === new Date(now).getFullYear();
  return `${(isThisYear ? DAY : DATE).format(date)}, ${TIME.format(date)}`;
};

export const localClock = (ms: number): string => TIME.format(new Date(ms));

export const utcTime = (instant: string): string => `${UTC.format(new Date(instant))} UTC`;

/** A UTC day such as `2026-11-22`. */
export const utcDay = (day: string): string =>
  UTC_DAY.format(new Date(`${day.slice(0, 10)}T00:00:00Z`));

/** The distance to an instant: "5 min ago", "in 3 d"; a date beyond a month. */
export const relativeTime = (instant: string, now: number): string => {
  const distance = Date.parse(instant) - now;
  const size = Math.abs(distance);
  if (size < MINUTE_MS) return distance <= 0 ? 'just now' : 'in a moment';
  if (size < HOUR_MS) return RELATIVE.format(Math.trunc(distance / MINUTE_MS), 'minute');
  if (size < DAY_MS) return RELATIVE.format(Math.trunc(distance / HOUR_MS), 'hour');
  if (size < 31 * DAY_MS) return RELATIVE.format(Math.trunc(distance / DAY_MS), 'day');
  return DATE.format(new Date(instant));
};
