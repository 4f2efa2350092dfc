import type { CallerProtocolName } from '../../protocol-name.ts';
import { sharedPaths } from '../../shared-members.ts';
import { all, cache, carriedTo, harmless, list, object, type Row } from './rows.ts';

/** Rows of several protocols: why a loss is harmless, and the forms of parts. */

export const LABEL = harmless('label');
export const ECHOED = harmless('echo');
export const OFFERED = harmless('offered');
export const WITH_DATA = harmless('data');
export const IMPLIED = harmless('implied');
export const ENFORCED = harmless('enforced');
export const SHOWN = harmless('shown');
export const TRANSMITTED = harmless('transport');

/** Of several calls at once, which Gemini cannot be kept from. */
export const SWITCH = carriedTo(['chat', 'messages', 'responses'], true);

const MARKS = 'cache_control prompt_cache_breakpoint';
export const ON_TOOL = all(cache('tool'), MARKS);
export const ON_CALL = all(cache('call'), MARKS);
export const OF_REQUEST = all(
  cache('request'),
  'prompt_cache_key prompt_cache_options prompt_cache_retention',
);

/** An object that callers may mark as the end of a cached prefix; most have a type. */
export const cached = (names: string, members: Record<string, Row> = {}) =>
  object(names, { ...all(cache('part'), MARKS), ...members });
export const part = (names: string, members?: Record<string, Row>) =>
  cached(`type ${names}`, members);

export const text = part('text');
export const TEXTS = list(object('type text'));
export const SOURCE = object('type media_type data url', { content: TEXTS });

/** Rows of the members that another protocol has too, or of those inside `parent`. */
export const shared = (from: CallerProtocolName, parent?: string): Record<string, Row> =>
  Object.fromEntries(
    sharedPaths(from, parent).map(({ name, to, usual, isLabel }) => [
      name,
      isLabel ? LABEL : carriedTo(to, ...usual),
    ]),
  );
