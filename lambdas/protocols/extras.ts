import type { Block, DocumentBlock, Extras, GenerationRequest } from './generation.ts';
import { asRecord, asString, type Json } from './json.ts';
import type { ProtocolName } from './protocol-name.ts';

/** Fields that only `protocol` has, unchanged, without nulls. */
export const makeExtras = (protocol: ProtocolName, fields: Json): Extras => ({
  protocol,
  fields: Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null)),
});

/** `{ extras }` if there are fields, else `{}`: most blocks have none. */
export const extrasIfAny = (protocol: ProtocolName, fields: Json): { extras?: Extras } => {
  const extras = makeExtras(protocol, fields);
  return Object.keys(extras.fields).length > 0 ? { extras } : {};
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

/**
 * Names of the parts that `protocol` cannot carry: native blocks and tools of other protocols, and
 * the documents that `documentName` names. The assistant's turns are skipped: a protocol that lacks
 * a form for a part of them leaves it out.
 */
export const partsBeyond = (
  protocol: ProtocolName,
  { turns, tools = [] }: GenerationRequest,
  documentName: (document: DocumentBlock) => string | undefined,
): string[] => {
  const namesIn = (block: Block): string[] => {
    switch (block.type) {
      case 'native':
        return block.protocol === protocol ? [] : [nameOf(block.value)];
      case 'tool-result':
        return block.content.flatMap(namesIn);
      case 'document':
        return [documentName(block) ?? []].flat();
      default:
        return [];
    }
  };
  return [
    ...turns.flatMap(({ role, blocks }) => (role === 'assistant' ? [] : blocks.flatMap(namesIn))),
    ...tools.flatMap((tool) =>
      'native' in tool && tool.protocol !== protocol ? [nameOf(tool.value)] : [],
    ),
  ];
};
