import { asRecord, type Json, resolveRef } from '../../lambdas/protocols/bytes/json.ts';

/** Ends the recursion of schemas that refer to themselves. Real arguments are never this deep. */
const MAX_DEPTH = 16;

/** An approximation of the smallest value that a JSON Schema allows. */
export const sampleOf = (value: unknown, top?: Json, depth = 0): unknown => {
  const schema = asRecord(value);
  if (!schema || depth > MAX_DEPTH) return null;
  const root = top ?? schema;
  const inner = (part: unknown) => sampleOf(part, root, depth + 1);
  if (typeof schema.$ref === 'string') return inner(resolveRef(root, schema.$ref));
  if ('const' in schema) return schema.const;
  if ('default' in schema) return schema.default;
  const choices = schema.enum ?? schema.examples;
  if (Array.isArray(choices) && choices.length > 0) return choices[0];
  const branches = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (Array.isArray(branches)) return inner(branches[0]);
  return sampleOfType(schema, inner);
};

const sampleOfType = (schema: Json, inner: (part: unknown) => unknown): unknown => {
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case 'string':
      return 'text';
    case 'integer':
    case 'number':
      return schema.minimum ?? 0;
    case 'boolean':
      return false;
    case 'null':
      return null;
    case 'array':
      return Array.from({ length: Number(schema.minItems ?? 0) }, () => inner(schema.items));
    default:
      return sampleOfObject(schema, inner);
  }
};

const sampleOfObject = (schema: Json, inner: (part: unknown) => unknown): Json => {
  const properties = asRecord(schema.properties) ?? {};
  const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
  return Object.fromEntries(required.map((name) => [name, inner(properties[name])]));
};
