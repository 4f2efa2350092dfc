import type { Item } from './dynamo-client.ts';

/** DynamoDB's form of a value: an object whose only member names the type. */
export type AttributeValue =
  | { S: string }
  | { N: string }
  | { BOOL: boolean }
  | { NULL: true }
  | { L: AttributeValue[] }
  | { M: AttributeMap };
export type AttributeMap = { [name: string]: AttributeValue };

const isPlain = (value: unknown): value is Item =>
  typeof value === 'object' &&
  value !== null &&
  [Object.prototype, null].includes(Object.getPrototypeOf(value));

/** @throws TypeError for a value that no store uses: binary, sets, numbers that are not finite */
export const toAttribute = (value: unknown): AttributeValue => {
  if (typeof value === 'string') return { S: value };
  if (typeof value === 'number' && Number.isFinite(value)) return { N: String(value) };
  if (typeof value === 'boolean') return { BOOL: value };
  if (value === null) return { NULL: true };
  if (Array.isArray(value)) return { L: value.filter((one) => one !== undefined).map(toAttribute) };
  if (isPlain(value)) return { M: toAttributes(value) };
  throw new TypeError(`No attribute value for a ${typeof value}.`);
};

/** Members that are undefined are left out. @throws TypeError */
export const toAttributes = (item: Item): AttributeMap => {
  const attributes: AttributeMap = {};
  for (const name in item) {
    const value = item[name];
    if (value !== undefined) attributes[name] = toAttribute(value);
  }
  return attributes;
};

/** @throws TypeError for a type that no store writes */
const fromAttribute = (value: AttributeValue): unknown => {
  if ('S' in value) return value.S;
  if ('N' in value) return Number(value.N);
  if ('BOOL' in value) return value.BOOL;
  if ('NULL' in value) return null;
  if ('L' in value) return value.L.map(fromAttribute);
  if ('M' in value) return readInto({}, value.M);
  throw new TypeError(`No plain value for the attribute type ${Object.keys(value)[0]}.`);
};

const readInto = (item: Item, attributes: AttributeMap): Item => {
  for (const name in attributes) {
    const value = attributes[name];
    if (value !== undefined) item[name] = fromAttribute(value);
  }
  return item;
};

/** A dictionary: V8 would make shapes for the marks of the requests in a meter, whose names occur once. */
export const fromAttributes = (attributes: AttributeMap): Item =>
  readInto(Object.create(null), attributes);
