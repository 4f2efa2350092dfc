import ts from 'typescript';
import { oncePer } from '../../lambdas/support/memo.ts';
import { omitUndefined } from '../../lambdas/support/objects.ts';
import { exportedType, type Place } from './type-declarations.ts';
import { type Form, formsOf, formsOfFound, isNull, itemOf } from './type-forms.ts';

const plainValue = ({ type }: Form, name: string): unknown => {
  if (ts.isLiteralTypeNode(type)) {
    const { literal } = type;
    if (ts.isLiteralExpression(literal)) {
      return ts.isNumericLiteral(literal) ? Number(literal.text) : literal.text;
    }
    return literal.kind === ts.SyntaxKind.TrueKeyword;
  }
  switch (type.kind) {
    case ts.SyntaxKind.StringKeyword:
    // `string & {}`, next to the words that the vendor knows
    case ts.SyntaxKind.IntersectionType:
      return name;
    case ts.SyntaxKind.NumberKeyword:
      return 3;
    case ts.SyntaxKind.BooleanKeyword:
      return true;
    default:
      return { any: 'thing' };
  }
};

/** Values that the type does not state, or functions that make them; undefined: no member. */
type Values = Record<string, unknown>;

/** The entry for the end of a member's path. */
const given = (values: Values, path: string): { value: unknown } | undefined => {
  const end = Object.keys(values).find((name) => path.endsWith(`.${name}`));
  if (end === undefined) return undefined;
  const value = values[end];
  return { value: typeof value === 'function' ? value() : value };
};

/** The forms to choose from: objects and lists, if there are any. */
const isRich = (form: Form): boolean => Boolean(form.members || itemOf(form));

/** Forms are read once, and chosen from in each value. */
const choicesOf = oncePer(new WeakMap<Form[], Form[]>(), (forms) => {
  const present = forms.filter((form) => !isNull(form));
  const rich = present.filter(isRich);
  return rich.length > 0 ? rich : present;
});

/** Makes values in which every union has its next form each time. */
const createSampler = (values: Values) => {
  /** How often a union was met, and how many forms it has. */
  const unions = new Map<string, { count: number; forms: number }>();
  let met = new Set<ts.Node>();
  let turn = -1;
  let widest = 1;

  const nextOf = (choices: Form[], path: string): Form | undefined => {
    if (!choices.some(isRich)) {
      widest = Math.max(widest, choices.length);
      return choices[turn % choices.length];
    }
    if (choices.length < 2) return choices[0];
    const key = `${path} ${choices.map(({ type }) => type.pos)}`;
    const { count } = unions.get(key) ?? { count: 0 };
    unions.set(key, { count: count + 1, forms: choices.length });
    return choices[count % choices.length];
  };

  const objectOf = ({ type, members = [], place }: Form, path: string): unknown => {
    const shown = met.has(type) ? members.filter(({ isOptional }) => !isOptional) : members;
    met.add(type);
    const made = shown.map(({ name, type: of }): [string, unknown] => [
      name,
      sampleOf(formsOf(of, place), `${path}.${name}`),
    ]);
    return omitUndefined(Object.fromEntries(made));
  };

  const listOf = (item: ts.TypeNode, place: Place, path: string): unknown[] => {
    const forms = formsOf(item, place);
    const objects = forms.filter(({ members }) => members);
    return (objects.length > 0 ? objects : forms.slice(0, 1)).map((form) => sampleOf([form], path));
  };

  const sampleOf = (forms: Form[], path: string): unknown => {
    const stated = given(values, path);
    if (stated) return stated.value;
    const form = nextOf(choicesOf(forms), path);
    if (!form) return null;
    const item = itemOf(form);
    if (item) return listOf(item, form.place, path);
    return form.members ? objectOf(form, path) : plainValue(form, path.split('.').at(-1) ?? '');
  };

  return {
    sample: (forms: Form[]): unknown => {
      met = new Set();
      turn += 1;
      return sampleOf(forms, '');
    },
    isComplete: () =>
      turn + 1 >= widest && [...unions.values()].every(({ count, forms }) => count >= forms),
  };
};

/**
 * Values of a type with every member that it has, optional ones too. Of a union a list has an item for each
 * form; elsewhere the values have its forms by turns, until they have all. A type that was met before in a
 * value has its required members only.
 */
export const samplesOf = (
  specifier: string,
  typeName: string,
  { values = {} }: { values?: Values } = {},
): unknown[] => {
  const forms = formsOfFound(exportedType(specifier, typeName));
  const { sample, isComplete } = createSampler(values);
  const samples = [sample(forms)];
  while (!isComplete()) samples.push(sample(forms));
  return samples;
};
