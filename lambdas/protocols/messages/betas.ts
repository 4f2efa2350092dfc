import { asString, type Json } from '../json.ts';
import type { WireTarget } from '../protocol.ts';

/**
 * Whether the target's own headers ask the upstream for a beta, by the beginning of its name. Without it
 * the vendor refuses the beta's fields, and agents send them whomever they talk to.
 */
export const asksForBeta = ({ headers = {} }: WireTarget, name: string): boolean =>
  Object.entries(headers).some(
    ([header, value]) =>
      header.toLowerCase() === 'anthropic-beta' &&
      value.split(',').some((beta) => beta.trim().startsWith(name)),
  );

/** What the vendor knows without a beta. */
const DISPLAYS = ['summarized', 'omitted'];

/** How thinking is shown, where the upstream is to be told; its default otherwise. */
export const withoutBetaDisplay = (thinking: Json | undefined, target: WireTarget) => {
  const { display, ...rest } = thinking ?? {};
  const isKnown = display === undefined || DISPLAYS.includes(asString(display) ?? '');
  return isKnown || asksForBeta(target, 'thinking-display') ? thinking : rest;
};
