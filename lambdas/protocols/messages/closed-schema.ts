import { asArray, asRecord, asString, type Json, resolveRef } from '../bytes/json.ts';

const COMPOSERS = ['anyOf', 'oneOf', 'allOf'];
const MAPS = ['properties', '$defs', 'definitions'];
/** Members that the vendor's structured mode supports unchanged. */
const SUPPORTED = ['type', 'enum', 'const', '$ref', 'required', 'title', 'description', 'default'];
const FORMATS = 'date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' ');
/** Members that are dropped: they constrain nothing, or `close` sets them. */
const DROPPED = ['$schema', '$id', 'additionalProperties'];

const schemasIn = (schema: Json, names: string[]): Json[] =>
  names.flatMap((name) =>
    Object.values(asRecord(schema[name]) ?? {}).map((schema) => asRecord(schema) ?? {}),
  );

const branchesOf = (schema: Json): Json[] =>
  COMPOSERS.flatMap((name) => asArray(schema[name])).map((branch) => asRecord(branch) ?? {});

const hasType = ({ type }: Json, name: string): boolean =>
  type === name || asArray(type).includes(name);

/** Whether this level is an object of any members or a list of anything: it cannot be closed. */
const isOpenHere = (schema: Json): boolean => {
  const { type, items, properties = {}, additionalProperties } = schema;
  if (['$ref', 'enum', 'const', ...COMPOSERS].some((name) => name in schema)) return false;
  if (type === undefined || 'prefixItems' in schema) return true;
  if (hasType(schema, 'array') && asRecord(items) === undefined) return true;
  const isEmpty = Object.keys(asRecord(properties) ?? {}).length === 0;
  return hasType(schema, 'object') && isEmpty && additionalProperties !== false;
};

const isOpen = (schema: Json): boolean =>
  isOpenHere(schema) ||
  [...schemasIn(schema, MAPS), ...branchesOf(schema)].some(isOpen) ||
  (asRecord(schema.items) !== undefined && isOpen(asRecord(schema.items) ?? {}));

/** A member, or what it refers to. */
const followed = (root: Json, name: string, member: unknown): unknown =>
  name === '$ref' && typeof member === 'string' ? resolveRef(root, member) : member;

/** Longer chains of references count as recursive. */
const MAX_REFERENCES = 50;
/** Parts within each other, those behind references included: each takes a frame of the stack. */
const MAX_OPEN = 1_000;

/** Whether the schema is recursive, which the vendor rejects. */
const isRecursive = (root: Json): boolean => {
  // Each part is read once, however many references name it or a part around it.
  const finite = new Set<object>();
  const open = new Set<object>();
  const loops = (part: unknown, references: number): boolean => {
    if (typeof part !== 'object' || part === null || finite.has(part)) return false;
    if (open.has(part) || open.size > MAX_OPEN || references > MAX_REFERENCES) return true;
    open.add(part);
    for (const [name, member] of Object.entries(part)) {
      const next = followed(root, name, member);
      if (loops(next, references + Number(next !== member))) return true;
    }
    open.delete(part);
    finite.add(part);
    return false;
  };
  return loops(root, 0);
};

const isSupported = (name: string, value: unknown): boolean =>
  SUPPORTED.includes(name) ||
  (name === 'minItems' && (value === 0 || value === 1)) ||
  (name === 'format' && FORMATS.includes(asString(value) ?? ''));

const closeInner = (name: string, value: unknown): unknown => {
  if (COMPOSERS.includes(name)) {
    return asArray(value).map((branch) => close(asRecord(branch) ?? {}));
  }
  if (name === 'items') return close(asRecord(value) ?? {});
  const schemas = Object.entries(asRecord(value) ?? {});
  return Object.fromEntries(schemas.map(([key, schema]) => [key, close(asRecord(schema) ?? {})]));
};

const close = (schema: Json): Json => {
  const closed: Json = {};
  const hints: string[] = [];
  for (const [name, value] of Object.entries(schema)) {
    if ([...COMPOSERS, ...MAPS, 'items'].includes(name)) {
      closed[name === 'oneOf' ? 'anyOf' : name] = closeInner(name, value);
    } else if (isSupported(name, value)) closed[name] = value;
    else if (!DROPPED.includes(name)) hints.push(`${name}: ${JSON.stringify(value)}`);
  }
  if (hasType(schema, 'object')) closed.additionalProperties = false;
  const description = [asString(schema.description), ...hints].filter(Boolean).join('\n');
  return description === '' ? closed : { ...closed, description };
};

/**
 * Adapts a JSON Schema to the vendor's structured mode, as its SDKs do: objects are closed, and
 * unsupported limits move to the description. Undefined if the mode cannot express the schema.
 */
export const closedSchema = (schema: Json): Json | undefined =>
  isRecursive(schema) || isOpen(schema) ? undefined : close(schema);
