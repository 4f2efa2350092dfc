import type { HeaderMap } from '../protocols/protocol.ts';
import type { ProviderLimit } from '../protocols/provider-limits.ts';

type Row = Pick<ProviderLimit, 'of' | 'per'> & Record<'remaining' | 'limit' | 'reset', string>;

const row = (of: Row['of'], per: Row['per'], pattern: string): Row => ({
  ...{ of, per },
  remaining: pattern.replace('*', 'remaining'),
  limit: pattern.replace('*', 'limit'),
  reset: pattern.replace('*', 'reset'),
});

const WINDOWS = ['minute', 'hour', 'day'] as const;

/** Anthropic; OpenAI, Azure, Groq and others; Cerebras; Mistral. */
const ROWS: readonly Row[] = [
  row('requests', 'minute', 'anthropic-ratelimit-requests-*'),
  row('tokens', 'minute', 'anthropic-ratelimit-tokens-*'),
  row('input', 'minute', 'anthropic-ratelimit-input-tokens-*'),
  row('output', 'minute', 'anthropic-ratelimit-output-tokens-*'),
  row('requests', 'minute', 'x-ratelimit-*-requests'),
  row('tokens', 'minute', 'x-ratelimit-*-tokens'),
  ...WINDOWS.flatMap((per) => [
    row('requests', per, `x-ratelimit-*-requests-${per}`),
    row('tokens', per, `x-ratelimit-*-tokens-${per}`),
  ]),
  row('requests', 'minute', 'x-ratelimit-*-req-minute'),
];

/** The same name with another window: at Groq requests without a window are those of the day. */
const DAILY_REQUESTS = /(?:^|\.)groq\.com$/;

/** Azure sends -1 for what it does not limit. */
const COUNT = /^\d{1,15}$/;
const countIn = (value: string | undefined): number | undefined =>
  value !== undefined && COUNT.test(value) ? Number(value) : undefined;

const SECONDS = /^\d{1,12}(?:\.\d{1,20})?$/;
/** `6m0s`, `2m59.56s`, `120ms`, `1d2h` */
const DURATION =
  /^(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,9})m(?!s))?(?:(\d{1,9}(?:\.\d{1,12})?)s)?(?:(\d{1,12}(?:\.\d{1,12})?)ms)?$/;
/** In milliseconds, of the groups. */
const UNITS = [86_400_000, 3_600_000, 60_000, 1_000, 1];

const durationIn = (text: string): number | undefined => {
  if (SECONDS.test(text)) return Number(text) * 1_000;
  const [whole, ...amounts] = DURATION.exec(text) ?? [];
  if (!whole) return undefined;
  return UNITS.reduce((sum, unit, index) => sum + unit * Number(amounts[index] ?? 0), 0);
};

/** A time of RFC 3339, or a duration from now. */
const instantIn = (value: string | undefined, now: number): number | undefined => {
  if (value === undefined) return undefined;
  const ms = durationIn(value);
  if (ms !== undefined) return now + ms;
  const instant = /^\d{4}-\d\d-\d\dT/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(instant) ? undefined : instant;
};

/** The limits that a response names, of whichever status; undefined if it names none. */
export const readLimits = (
  headers: HeaderMap,
  { hostname, now }: { hostname: string; now: number },
): ProviderLimit[] | undefined => {
  let limits: ProviderLimit[] | undefined;
  for (const { of, per, ...names } of ROWS) {
    const remaining = countIn(headers[names.remaining]);
    if (remaining === undefined) continue;
    const isDaily =
      names.remaining === 'x-ratelimit-remaining-requests' && DAILY_REQUESTS.test(hostname);
    limits ??= [];
    limits.push({
      ...{ of, per: isDaily ? 'day' : per, remaining },
      limit: countIn(headers[names.limit]),
      resetAt: instantIn(headers[names.reset], now),
    });
  }
  return limits;
};
