import { type Clock, minuteOf } from '../support/clock.ts';
import { rateLimited } from '../support/errors.ts';
import { createLruCache } from '../support/memo.ts';

/** Lookups a minute without a result. A company behind one address has fewer mistyped keys. */
const MAX_UNKNOWN = 600;
/** Interval of the lookups above that: a valid key of the network that this process has not seen gets one of them. */
const LATE_MS = 50;
const MAX_SOURCES = 1_000;

const NETWORK_GROUPS = 4;

const groupsIn = (text: string): string[] => (text === '' ? [] : text.split(':'));

/**
 * The network that one subscriber has: an IPv4 address, or the first 64 bits of an IPv6 address, whose other
 * 64 its holder chooses freely (RFC 6177). An IPv4 address that is written as IPv6 counts as itself.
 */
const networkOf = (address: string): string => {
  if (!address.includes(':')) return address;
  const [ipv4] = /[\d.]{7,15}$/.exec(address) ?? [];
  if (ipv4?.includes('.')) return ipv4;
  const [head = [], tail = []] = address.split('::').map(groupsIn);
  const zeros = Array<string>(Math.max(0, 8 - head.length - tail.length)).fill('0');
  const network = [...head, ...zeros, ...tail].slice(0, NETWORK_GROUPS);
  return network.map((group) => Number.parseInt(group, 16).toString(16)).join(':');
};

/** Limits the reads of the keys table that well-formed but unknown keys of one network cost. */
export type UnknownKeyLimit = {
  /** @throws ApiError 429 */
  assertAllowed(source: string): void;
  count(source: string): void;
};

/** Each process counts its own, in memory. */
export const createUnknownKeyLimit = (clock: Clock): UnknownKeyLimit => {
  const counts = createLruCache<{ minute: number; unknown: number; lateAt: number }>(MAX_SOURCES);
  const entryOf = (network: string, now: number) => {
    const entry = counts.get(network);
    return entry?.minute === minuteOf(now)
      ? entry
      : { minute: minuteOf(now), unknown: 0, lateAt: now };
  };
  return {
    assertAllowed: (source) => {
      const now = clock.now();
      const network = networkOf(source);
      const entry = entryOf(network, now);
      if (entry.unknown < MAX_UNKNOWN) return;
      if (now < entry.lateAt) {
        throw rateLimited(
          `${MAX_UNKNOWN} API keys from this network were invalid in this minute. Retry in a second.`,
          { 'retry-after': '1' },
          { name: 'invalid_keys_per_minute', limit: MAX_UNKNOWN },
        );
      }
      counts.set(network, { ...entry, lateAt: now + LATE_MS });
    },
    count: (source) => {
      const now = clock.now();
      const network = networkOf(source);
      const entry = entryOf(network, now);
      counts.set(network, { ...entry, unknown: entry.unknown + 1, lateAt: now + LATE_MS });
    },
  };
};
