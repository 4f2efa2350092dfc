import ts from 'typescript';
import {
  type Found,
  findType,
  type Member,
  membersIn,
  membersOf,
  type Place,
} from './type-declarations.ts';

/** A type without unions: a built-in one, a list, or the members of an object. */
export type Form = { type: ts.Node; place: Place; members?: Member[] };

export const formsOfFound = (found: Found): Form[] => {
  const { declaration, place } = found;
  if (ts.isTypeAliasDeclaration(declaration)) return formsOf(declaration.type, place);
  if (ts.isEnumDeclaration(declaration)) return [{ type: declaration, place }];
  return [{ type: declaration, place, members: membersOf(found) }];
};

const readForms = (type: ts.TypeNode, place: Place): Form[] => {
  if (ts.isUnionTypeNode(type)) return type.types.flatMap((one) => formsOf(one, place));
  if (ts.isParenthesizedTypeNode(type)) return formsOf(type.type, place);
  if (ts.isTypeLiteralNode(type)) return [{ type, place, members: membersIn(type.members) }];
  const found = ts.isTypeReferenceNode(type) && findType(type.typeName.getText(), place);
  return found ? formsOfFound(found) : [{ type, place }];
};

/** By the place and the type: a sampler asks for those of a member in each value that it makes. */
const known = new WeakMap<Place, Map<ts.TypeNode, Form[]>>();

export const formsOf = (type: ts.TypeNode, place: Place): Form[] => {
  const here = known.get(place) ?? new Map<ts.TypeNode, Form[]>();
  known.set(place, here);
  const forms = here.get(type) ?? readForms(type, place);
  here.set(type, forms);
  return forms;
};

export const isNull = ({ type }: Form): boolean =>
  type.kind === ts.SyntaxKind.UndefinedKeyword ||
  (ts.isLiteralTypeNode(type) && type.literal.kind === ts.SyntaxKind.NullKeyword);

/** The type of a list's items; undefined if the form is not a list. */
export const itemOf = ({ type }: Form): ts.TypeNode | undefined => {
  if (ts.isArrayTypeNode(type)) return type.elementType;
  const isList = ts.isTypeReferenceNode(type) && type.typeName.getText() === 'Array';
  return isList ? type.typeArguments?.[0] : undefined;
};
