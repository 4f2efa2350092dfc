import { isEmpty } from '../../support/objects.ts';
import { asRecord, asString, type Json } from '../bytes/json.ts';
import type { Block, DocumentBlock, Extras, GenerationRequest } from '../generation.ts';
import type { CallerProtocolName, ProtocolName, UpstreamProtocolName } from '../protocol-name.ts';
import { ESSENTIAL, isOneOf } from './paths.ts';

/** Fields that only `protocol` has, unchanged, without nulls. */
export const makeExtras = <Name extends ProtocolName>(
  protocol: Name,
  fields: Json,
): Extras<Name> => {
  const present: Json = {};
  for (const name in fields) if (fields[name] != null) present[name] = fields[name];
  return { protocol, fields: present };
};

/** The members without those of these names. */
export const without = (members: Json, names: readonly string[]): Json =>
  Object.fromEntries(Object.entries(members).filter(([name]) => !names.includes(name)));

/** `{ extras }` if there are fields, else `{}`: most blocks have none. */
export const extrasIfAny = (protocol: ProtocolName, fields: Json): { extras?: Extras } => {
  const extras = makeExtras(protocol, fields);
  return isEmpty(extras.fields) ? {} : { extras };
};

/** The fields for encoding to `protocol`; none if they came from another protocol. */
export const extraFieldsFor = (protocol: ProtocolName, extras: Extras | undefined): Json =>
  extras?.protocol === protocol ? extras.fields : {};

/** `web_search_20250305`, or `document (file)` where only the source is native to the protocol. */
const nameOf = (value: Record<string, unknown>): string => {
  const name = asString(value.type) ?? 'unknown';
  const source = asString(asRecord(value.source)?.type);
  return source === undefined ? name : `${name} (${source})`;
};

type PartForms = {
  documentName?: ((document: DocumentBlock) => string | undefined) | undefined;
  takes?: ((block: Block) => boolean) | undefined;
};

/**
 * Names of the parts that `protocol` cannot carry: native blocks, unless it `takes` them, and tools of other protocols, and
 * the documents that `documentName` names. The assistant's turns are skipped: a protocol that lacks
 * a form for a part of them leaves it out.
 */
export const partsBeyond = (
  protocol: ProtocolName,
  { turns, tools = [] }: GenerationRequest,
  { documentName, takes }: PartForms = {},
): string[] => {
  const names: string[] = [];
  const addFrom = (block: Block): void => {
    if (block.type === 'tool-result') block.content.forEach(addFrom);
    const isForeign = block.type === 'native' && block.protocol !== protocol;
    if (isForeign && !takes?.(block)) names.push(nameOf(block.value));
    const name = block.type === 'document' ? documentName?.(block) : undefined;
    if (name !== undefined) names.push(name);
  };
  for (const { role, blocks } of turns) if (role !== 'assistant') blocks.forEach(addFrom);
  for (const tool of tools) {
    if ('native' in tool && tool.protocol !== protocol) names.push(nameOf(tool.value));
  }
  return names;
};

/** The fields that only a target of the caller's protocol can be sent, if `to` is another one. */
export const essentialBeyond = (
  to: UpstreamProtocolName,
  { protocol: from, fields }: Extras<CallerProtocolName>,
): string[] =>
  from === to
    ? []
    : Object.keys(fields).filter((name) => {
        const defaults = Object.hasOwn(ESSENTIAL[from], name) ? ESSENTIAL[from][name] : undefined;
        return defaults !== undefined && !isOneOf(defaults)(fields[name]);
      });
