import ts from 'typescript';
import { exportedType } from './type-declarations.ts';
import { type Form, formsOf, formsOfFound, isNull, itemOf } from './type-forms.ts';

/** What is wrong with a value by a type of an official SDK: wrong kinds, missing members, and members that it lacks. */
export type Judge = (value: unknown) => string[];

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Types whose members have any name. */
const isOpen = ({ type }: Form): boolean =>
  ts.isTypeLiteralNode(type) && type.members.some(ts.isIndexSignatureDeclaration);

const literalOf = ({ type }: Form): { value: unknown } | undefined => {
  if (!ts.isLiteralTypeNode(type)) return undefined;
  const { literal } = type;
  if (ts.isNumericLiteral(literal)) return { value: Number(literal.text) };
  if (ts.isLiteralExpression(literal)) return { value: literal.text };
  return { value: literal.kind === ts.SyntaxKind.TrueKeyword };
};

const KINDS = new Map<ts.SyntaxKind, string>([
  [ts.SyntaxKind.StringKeyword, 'string'],
  [ts.SyntaxKind.NumberKeyword, 'number'],
  [ts.SyntaxKind.BooleanKeyword, 'boolean'],
]);

const plainFaults = (form: Form, value: unknown, path: string): string[] => {
  const literal = literalOf(form);
  const kind = KINDS.get(form.type.kind);
  const words = ts.isEnumDeclaration(form.type)
    ? form.type.members.map(({ initializer }) =>
        initializer?.getText().replaceAll(/^['"]|['"]$/g, ''),
      )
    : undefined;
  const isRight = literal
    ? literal.value === value
    : words
      ? words.includes(String(value))
      : kind === undefined || kind === typeof value;
  const wanted = literal ? JSON.stringify(literal.value) : (kind ?? 'another word');
  return isRight ? [] : [`${path}: must be ${wanted}`];
};

/** A value of another kind, or with another `type`, is less likely to be of a form than one with many faults. */
const weightOf = (faults: string[], path: string): number =>
  faults
    .map((fault) => {
      if (fault.startsWith(`${path}: `)) return 10_000;
      return fault.startsWith(`${path}.type: `) ? 100 : 1;
    })
    .reduce((sum, one) => sum + one, 0);

/** @param lenient names of required members that the vendor accepts a request without */
export const judgeOf = (
  specifier: string,
  typeName: string,
  lenient: readonly string[] = [],
): Judge => {
  const known = new WeakMap<ts.TypeNode, Form[]>();
  const cached = (type: ts.TypeNode, place: Form['place']): Form[] => {
    const forms = known.get(type) ?? formsOf(type, place);
    known.set(type, forms);
    return forms;
  };

  const objectFaults = (form: Form, value: unknown, path: string): string[] => {
    if (!isObject(value)) return [`${path}: must be an object`];
    const members = new Map((form.members ?? []).map((member) => [member.name, member]));
    const unknown = Object.keys(value).filter((name) => !members.has(name) && !isOpen(form));
    const faults = [...members.values()].flatMap(({ name, type, isOptional }) => {
      const at = path === '' ? name : `${path}.${name}`;
      if (value[name] !== undefined) return faultsOf(cached(type, form.place), value[name], at);
      return isOptional || lenient.includes(name) ? [] : [`${at}: is required`];
    });
    return [
      ...unknown.map(
        (name) => `${path === '' ? 'body' : path}.${name}: extra inputs are not permitted`,
      ),
      ...faults,
    ];
  };

  const formFaults = (form: Form, value: unknown, path: string): string[] => {
    if (isNull(form)) return value === null ? [] : [`${path}: must be null`];
    const item = itemOf(form);
    if (item) {
      if (!Array.isArray(value)) return [`${path}: must be a list`];
      return value.flatMap((one, at) => faultsOf(cached(item, form.place), one, `${path}.${at}`));
    }
    return form.members ? objectFaults(form, value, path) : plainFaults(form, value, path);
  };

  /** Of a union the form that is meant: the one with the least faults. */
  const faultsOf = (forms: Form[], value: unknown, path: string): string[] => {
    let [least, weight]: [string[], number] = [[], Number.POSITIVE_INFINITY];
    for (const form of forms) {
      const faults = formFaults(form, value, path);
      if (faults.length === 0) return [];
      const own = weightOf(faults, path);
      if (own < weight) [least, weight] = [faults, own];
    }
    return least;
  };

  const forms = formsOfFound(exportedType(specifier, typeName));
  return (value) => faultsOf(forms, value, '');
};
