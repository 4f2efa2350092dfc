export type Json = Record<string, unknown>;

/** Collects what a vendor would reject, each with the path of the field. */
export type Checker = {
  readonly rejections: string[];
  reject(path: string, reason: string): void;
  /** Rejects `path` unless `isRight`. */
  require(isRight: boolean, path: string, reason: string): void;
};

export const createChecker = (): Checker => {
  const rejections: string[] = [];
  const reject = (path: string, reason: string) => void rejections.push(`${path}: ${reason}`);
  return {
    rejections,
    reject,
    require: (isRight, path, reason) => {
      if (!isRight) reject(path, reason);
    },
  };
};

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isText = (value: unknown): value is string => typeof value === 'string';

export const isVisible = (value: unknown): boolean => isText(value) && value.trim() !== '';

export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** Holds each item of a list to a rule, under its path. */
export const each = (
  list: unknown,
  path: string,
  rule: (item: unknown, path: string) => void,
): void => {
  for (const [index, item] of listOf(list).entries()) rule(item, `${path}.${index}`);
};

/** Vendors reject members that they do not know. */
export const onlyMembers = (check: Checker, value: Json, path: string, known: string): void => {
  const names = new Set(known.split(' '));
  for (const name of Object.keys(value)) {
    check.require(names.has(name), `${path}.${name}`, 'extra inputs are not permitted');
  }
};

/** Absent, or a number from `min` to `max`. */
export const inRange = (
  check: Checker,
  value: unknown,
  path: string,
  [min, max]: [number, number],
): void => {
  if (value === undefined) return;
  const isRight = typeof value === 'number' && value >= min && value <= max;
  check.require(isRight, path, `must be a number from ${min} to ${max}`);
};

/** Absent, or one of the words. */
export const oneOf = (check: Checker, value: unknown, path: string, words: string): void => {
  if (value === undefined) return;
  check.require(isText(value) && words.split(' ').includes(value), path, `must be one of ${words}`);
};

/** Absent, or `true` or `false`. */
export const flag = (check: Checker, value: unknown, path: string): void =>
  check.require(value === undefined || typeof value === 'boolean', path, 'must be a boolean');

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

export const isBase64 = (value: unknown): boolean =>
  isText(value) && value !== '' && BASE64.test(value);

export const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];

/** A JSON Schema of a tool's arguments or of an answer. */
export const requireSchema = (check: Checker, value: unknown, path: string): void => {
  check.require(isObject(value) && value.type === 'object', path, 'must be a schema of an object');
};

/** An object as JSON text. */
export const isJsonObjectText = (value: unknown): boolean => {
  try {
    return isObject(JSON.parse(String(value)));
  } catch {
    return false;
  }
};
