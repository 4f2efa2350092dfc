import * as z from 'zod';

/** Resources of a template, by their logical ids. */
export const Resources = z.record(
  z.string(),
  z.object({ Type: z.string(), Properties: z.record(z.string(), z.unknown()).default({}) }),
);
export type Resources = z.infer<typeof Resources>;

/** The only resource of a type, with its logical id. @throws Error unless there is one */
export const resourceOf = (
  resources: Resources,
  type: string,
  idStart = '',
): { id: string; properties: Record<string, unknown> } => {
  const found = Object.entries(resources).filter(
    ([id, { Type }]) => Type === type && id.startsWith(idStart),
  );
  const [only] = found;
  if (!only || found.length > 1) throw new Error(`The template has ${found.length} of ${type}.`);
  return { id: only[0], properties: only[1].Properties };
};

/** Values of `Ref` by name, and of `Fn::GetAtt` by `Name.Attribute`. */
type Values = Record<string, string>;

/** The text of a value of a template, as CloudFormation resolves it. @throws Error for an unknown reference */
export const resolveText = (value: unknown, values: Values): string => {
  if (typeof value !== 'object' || value === null) return String(value);
  const [[name, argument] = []] = Object.entries(value);
  const list = Array.isArray(argument) ? argument : [];
  if (name === 'Ref' || name === 'Fn::GetAtt') {
    const text = values[name === 'Ref' ? String(argument) : list.join('.')];
    if (text === undefined) throw new Error(`No value for ${JSON.stringify(value)}.`);
    return text;
  }
  if (name === 'Fn::Join') {
    const [separator, parts]: [string, unknown[]] = [list[0], list[1]];
    return parts.map((part) => resolveText(part, values)).join(separator);
  }
  throw new Error(`${name} is not read by the tests.`);
};
