/**
 * The names of lambdas/support/schema.ts, which build JSON Schemas in place of functions. The generator of the document loads the
 * schemas of requests with it (document.ts): what validates is what is documented, and the router's bundle has no code for it.
 */
type Json = Record<string, unknown>;
type Shape = Record<string, Json>;

/** Of a member that may be absent; not in the document. */
const OPTIONAL = Symbol('optional');

const withRule = (schema: Json, rule: Json): Json => ({ ...schema, ...rule });

export const string: Json = { type: 'string' };
export const boolean: Json = { type: 'boolean' };
export const number: Json = { type: 'number' };
export const anything: Json = {};
export const jsonObject: Json = { type: 'object' };
const array: Json = { type: 'array' };

export const checked = (schema: Json, _isValid: unknown, description: string): Json =>
  withRule(schema, { description });
export const atLeast = (schema: Json, minimum: number): Json => withRule(schema, { minimum });
export const atMost = (schema: Json, maximum: number): Json => withRule(schema, { maximum });
export const integer: Json = { type: 'integer', maximum: Number.MAX_SAFE_INTEGER };
export const positive: Json = withRule(integer, { minimum: 1 });
export const nonEmpty: Json = withRule(string, { minLength: 1 });
export const matching = ({ source }: RegExp): Json => withRule(string, { pattern: source });
export const mapped = (schema: Json): Json => schema;
export const readOnce = mapped;

/** What a plan may allow is any value: the decoder sees it where the plan does not. */
const isAllowedByPlan = (description = ''): boolean => description.startsWith('needs a plan');

export const oneOf = (values: readonly unknown[], description?: string): Json => ({
  ...(!isAllowedByPlan(description) && { enum: values }),
  ...(description !== undefined && { description }),
});
export const literal = (value: unknown): Json => ({ const: value });

const absentable = (schema: Json): Json => Object.assign({ ...schema }, { [OPTIONAL]: true });
export const optional = (schema: Json): Json => absentable({ anyOf: [schema, { type: 'null' }] });
export const exactOptional = absentable;
export const withDefault = (schema: Json, value: unknown): Json =>
  absentable({ ...schema, default: value });

export const list = (items: Json, rules: Json = array): Json => withRule(rules, { items });
export const minItems = (min: number): Json => withRule(array, { minItems: min });
export const maxItems = (max: number, { items = array }: { items?: Json } = {}): Json =>
  withRule(items, { maxItems: max });

export const looseObject = (shape: Shape): Json => {
  const required = Object.keys(shape).filter((name) => !(OPTIONAL in (shape[name] ?? {})));
  return { type: 'object', properties: shape, ...(required.length > 0 && { required }) };
};
export const kind = (type: string, shape: Shape): Json =>
  looseObject({ type: literal(type), ...shape });
export const object = looseObject;
export const union = (schemas: readonly Json[]): Json => ({ anyOf: schemas });
export const selectedBy = (name: string, schemas: Shape): Json => ({
  anyOf: Object.entries(schemas).map(([choice, schema]) => ({
    ...schema,
    properties: { ...(schema.properties as Json), [name]: { const: choice } },
    required: [...new Set([...((schema.required as string[] | undefined) ?? []), name])],
  })),
});

const otherThan = (types: string[]): Json => ({
  type: 'object',
  properties: { type: { type: 'string', not: { enum: types } } },
  required: ['type'],
});
/** A schema of objects without a `type`. */
const withoutType = (schema: Json): Json => ({
  allOf: [schema, { properties: { type: { type: 'null' } } }],
});
export const typed = (schemas: Shape, untyped?: Json): Json => ({
  anyOf: [
    ...Object.entries(schemas).map(([type, schema]) =>
      'type' in ((schema.properties ?? {}) as Json)
        ? schema
        : { allOf: [schema, { properties: { type: { const: type } }, required: ['type'] }] },
    ),
    otherThan(Object.keys(schemas)),
    ...(untyped ? [withoutType(untyped)] : []),
  ],
});
export const noneBut = (types: readonly string[]): Json => ({
  type: 'object',
  properties: { type: { enum: types } },
  required: ['type'],
});

/** Read requests, which the generator does not. */
export const parseWire = undefined;
