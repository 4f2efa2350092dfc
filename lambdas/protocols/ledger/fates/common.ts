import { all, cache, harmless, list, object, type Row } from './rows.ts';

/** Rows of several protocols: why a loss is harmless, and the forms of parts. */

export const LABEL = harmless('a label for the records of the provider');
export const ECHOED = harmless('a part of an earlier response, of which the model reads the rest');
export const OFFERED = harmless('the tool is offered from the start');
export const WITH_DATA = harmless('the file is sent with its data');
export const IMPLIED = harmless('what it states follows from the members next to it');
export const ENFORCED = harmless('a schema is enforced wherever the target can');
export const SHOWN = harmless('thinking is returned wherever the target shows it');
export const TRANSMITTED = harmless('how a response is transmitted, not what it contains');

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
