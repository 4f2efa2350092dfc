import { isEmpty, omitUndefined } from '../../support/omit-undefined.ts';
import { asArray, asCount, asRecord, asString, type Json } from '../bytes/json.ts';
import type { Usage } from '../generation.ts';
import { extraFieldsFor, makeExtras, membersBeyond } from '../ledger/extras.ts';
import { NAME } from './name.ts';

/** Counts of the protocol: `input_tokens` excludes the tokens read from or written to a cache. */
export type WireUsage = {
  input?: number;
  cacheRead?: number;
  cacheWrite?: number;
  output?: number;
  thinking?: number;
  /** Counts that only this protocol has, e.g. searches. */
  native?: Record<string, unknown>;
};

/** Native counts that are zero if absent, by the names in the vendor's types: SDKs add them up. */
const NATIVE_COUNTS: Record<string, string[]> = {
  cache_creation: ['ephemeral_5m_input_tokens', 'ephemeral_1h_input_tokens'],
  server_tool_use: ['web_search_requests', 'web_fetch_requests'],
};

/** How the upstream served the request: the tier that was billed, the region, the speed. */
const OF_SERVICE = ['inference_geo', 'service_tier', 'speed'];
/** The values of the vendor's types: SDKs that validate reject others. */
const VALUES: Record<string, string[]> = {
  service_tier: ['standard', 'priority', 'batch'],
  speed: ['standard', 'fast'],
};

/** Kept as they are: the steps of a message, what became of a credit. */
const WHOLE = ['iterations', 'fallback_credit'];

/** Members with a canonical form. */
const CANONICAL = [
  ...['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'],
];
const DETAILS = 'output_tokens_details';
const LISTED = [...Object.keys(NATIVE_COUNTS), ...OF_SERVICE, ...WHOLE, DETAILS];

const nativeCounts = (wire: Json = {}): Json | undefined => {
  const present = Object.entries(NATIVE_COUNTS).flatMap(([name, counts]): [string, Json][] => {
    const value = asRecord(wire[name]);
    if (!value) return [];
    const known = counts.map((count) => [count, asCount(value[count]) ?? 0]);
    return [[name, { ...membersBeyond(value, counts), ...Object.fromEntries(known) }]];
  });
  const words = OF_SERVICE.flatMap((name): [string, unknown][] => {
    const word = asString(wire[name]);
    return word === undefined || VALUES[name]?.includes(word) === false ? [] : [[name, word]];
  });
  const whole = WHOLE.flatMap((name): [string, unknown][] => {
    const value = wire[name];
    return asArray(value).length > 0 || asRecord(value) ? [[name, value]] : [];
  });
  const details = membersBeyond(asRecord(wire[DETAILS]) ?? {}, ['thinking_tokens']);
  const others = Object.entries(membersBeyond(wire, [...CANONICAL, ...LISTED]));
  const all = [
    ...[...present, ...words, ...whole, ...others.filter(([, value]) => value !== null)],
    ...(isEmpty(details) ? [] : [[DETAILS, details] as [string, unknown]]),
  ];
  return all.length > 0 ? Object.fromEntries(all) : undefined;
};

/** The counts of one event. They are cumulative: later ones replace earlier ones. */
export const readUsage = (value: unknown): WireUsage => {
  const wire = asRecord(value);
  return omitUndefined({
    input: asCount(wire?.input_tokens),
    cacheRead: asCount(wire?.cache_read_input_tokens),
    cacheWrite: asCount(wire?.cache_creation_input_tokens),
    output: asCount(wire?.output_tokens),
    thinking: asCount(asRecord(wire?.output_tokens_details)?.thinking_tokens),
    native: nativeCounts(wire),
  });
};

export const mergeUsage = (earlier: WireUsage, later: WireUsage): WireUsage => {
  const native = { ...earlier.native, ...later.native };
  return { ...earlier, ...later, ...(isEmpty(native) ? {} : { native }) };
};

/** The canonical counts. Undefined: the upstream sent no counts. */
export const decodeUsage = (wire: WireUsage): Usage | undefined => {
  const { input, cacheRead, cacheWrite, output, thinking, native } = wire;
  if (input === undefined && output === undefined) return undefined;
  return {
    inputTokens: (input ?? 0) + (cacheRead ?? 0) + (cacheWrite ?? 0),
    outputTokens: output ?? 0,
    ...omitUndefined({
      cacheReadTokens: cacheRead,
      cacheWriteTokens: cacheWrite,
      reasoningTokens: thinking,
      extras: native && makeExtras(NAME, native),
    }),
  };
};

/** The members `names`; one that is absent is `absent`, or left out. */
const membersOf = (native: Json, names: string[], absent?: null): Json => {
  const members: Json = {};
  for (const name of names) {
    const value = native[name] ?? absent;
    if (value !== undefined) members[name] = value;
  }
  return members;
};

const detailsOf = (native: Json, thinking: number | undefined): Json | null => {
  const details = asRecord(native[DETAILS]);
  return thinking === undefined && !details
    ? null
    : omitUndefined({ ...details, thinking_tokens: thinking });
};

/**
 * The counts; the vendor's types require all of them, null if absent. `estimate` replaces an input of
 * zero, which the upstream did not count: agents compact their history by it.
 */
export const encodeUsage = (usage: Usage, estimate: () => number): Record<string, unknown> => {
  const { outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens, extras } = usage;
  const native = extraFieldsFor(NAME, extras);
  const inputTokens = usage.inputTokens || estimate();
  const uncached = inputTokens - (cacheReadTokens ?? 0) - (cacheWriteTokens ?? 0);
  return {
    input_tokens: Math.max(0, uncached),
    cache_creation_input_tokens: cacheWriteTokens ?? null,
    cache_read_input_tokens: cacheReadTokens ?? null,
    output_tokens: outputTokens,
    output_tokens_details: detailsOf(native, reasoningTokens),
    server_tool_use: native.server_tool_use ?? null,
    ...membersOf(native, WHOLE),
    ...membersBeyond(native, LISTED),
  };
};

/** The usage of a whole message, with the fields about the service. */
export const encodeMessageUsage = (
  usage: Usage,
  estimate: () => number,
): Record<string, unknown> => {
  const native = extraFieldsFor(NAME, usage.extras);
  return {
    cache_creation: native.cache_creation ?? null,
    ...membersOf(native, OF_SERVICE, null),
    ...encodeUsage(usage, estimate),
  };
};
