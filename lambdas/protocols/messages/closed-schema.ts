import { asArray, asRecord, asString, type Json, resolveRef } from '../json.ts';

const COMPOSERS = ['anyOf', 'oneOf', 'allOf'];
const MAPS = ['properties', '$defs', 'definitions'];
/** Members that the vendor's structured mode knows as they are. */
const KNOWN = ['type', 'enum', 'const', '$ref', 'required', 'title', 'description', 'default'];
const FORMATS = 'date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' ');
/** Members that constrain nothing, or that closing decides. */
const SILENT = ['$schema', '$id', 'additionalProperties'];

const schemasIn = (schema: Json, names: string[]): Json[] =>
  names.flatMap((name) =>
    Object.values(asRecord(schema[name]) ?? {}).map((at) => asRecord(at) ?? {}),
  );

const branchesOf = (schema: Json): Json[] =>
  COMPOSERS.flatMap((name) => asArray(schema[name])).map((branch) => asRecord(branch) ?? {});

const hasType = ({ type }: Json, name: string): boolean =>
  type === name || asArray(type).includes(name);

/** An object of any members, a list of anything: what a closed schema cannot say. */
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

const refsIn = (value: unknown): string[] =>
  Array.isArray(value)
    ? value.flatMap(refsIn)
    : Object.entries(asRecord(value) ?? {}).flatMap(([name, at]) =>
        name === '$ref' && typeof at === 'string' ? [at] : refsIn(at),
      );

/** Longer chains of references are taken for endless ones. */
const MAX_REFERENCES = 50;

/** Whether the schema holds itself, which the vendor refuses. */
const isRecursive = (root: Json): boolean => {
  const ends = new Set<string>();
  const loops = (ref: string, path: string[]): boolean => {
    if (ends.has(ref)) return false;
    if (path.includes(ref) || path.length > MAX_REFERENCES) return true;
    const found = refsIn(resolveRef(root, ref)).some((next) => loops(next, [...path, ref]));
    if (!found) ends.add(ref);
    return found;
  };
  return refsIn(root).some((ref) => loops(ref, []));
};

const isKnown = (name: string, value: unknown): boolean =>
  KNOWN.includes(name) ||
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
  const told: string[] = [];
  for (const [name, value] of Object.entries(schema)) {
    if ([...COMPOSERS, ...MAPS, 'items'].includes(name)) {
      closed[name === 'oneOf' ? 'anyOf' : name] = closeInner(name, value);
    } else if (isKnown(name, value)) closed[name] = value;
    else if (!SILENT.includes(name)) told.push(`${name}: ${JSON.stringify(value)}`);
  }
  if (hasType(schema, 'object')) closed.additionalProperties = false;
  const description = [asString(schema.description), ...told].filter(Boolean).join('\n');
  return description === '' ? closed : { ...closed, description };
};

/**
 * A JSON Schema as the vendor's structured mode takes it: objects closed, and limits that it does not
 * know said in the description, as its own SDKs do. Undefined for one that it cannot take at all.
 */
export const closedSchema = (schema: Json): Json | undefined =>
  isRecursive(schema) || isOpen(schema) ? undefined : close(schema);
