/** The schemas of replies, from the types that the functions have which make them. */
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

type Json = Record<string, unknown>;

const root = fileURLToPath(new URL('../../', import.meta.url));
const MAX_DEPTH = 12;

const readProgram = (files: string[]): ts.Program => {
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => undefined };
  const { options } = ts.getParsedCommandLineOfConfigFile(`${root}tsconfig.json`, {}, host) ?? {};
  return ts.createProgram(
    files.map((file) => `${root}${file}`),
    { ...options, noEmit: true },
  );
};

const oneOf = (schemas: Json[]): Json => {
  const flat = schemas.flatMap((schema) => (schema.anyOf as Json[] | undefined) ?? [schema]);
  const texts = [...new Set(flat.map((schema) => JSON.stringify(schema)))].toSorted();
  const unique = texts.map((text): Json => JSON.parse(text));
  const values = unique.flatMap(({ const: value }) => (value === undefined ? [] : [value]));
  const others = unique.filter((schema) => schema.const === undefined);
  if (others.some((schema) => Object.keys(schema).length === 0)) return {};
  const all: Json[] = [
    ...others,
    ...(values.length > 1 ? [{ enum: values }] : values.map((value) => ({ const: value }))),
  ];
  const simple = all.every(
    (schema) => Object.keys(schema).length === 1 && typeof schema.type === 'string',
  );
  if (all.length > 1 && simple) return { type: all.map(({ type }) => type) };
  return all.length === 1 ? (all[0] ?? {}) : { anyOf: all };
};

const PRIMITIVES: [flag: ts.TypeFlags, schema: Json][] = [
  [ts.TypeFlags.String | ts.TypeFlags.TemplateLiteral, { type: 'string' }],
  [ts.TypeFlags.Number, { type: 'number' }],
  [ts.TypeFlags.Boolean, { type: 'boolean' }],
  [ts.TypeFlags.Null, { type: 'null' }],
];

const createSchemaOf = (checker: ts.TypeChecker) => {
  const primitive = (type: ts.Type): Json | undefined => {
    if (type.isStringLiteral() || type.isNumberLiteral()) return { const: type.value };
    if (type.flags & ts.TypeFlags.BooleanLiteral)
      return { const: checker.typeToString(type) === 'true' };
    return PRIMITIVES.find(([flag]) => type.flags & flag)?.[1];
  };
  const isAbsent = (type: ts.Type): boolean =>
    Boolean(type.flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Never));
  const mayLack = (symbol: ts.Symbol, member: ts.Type): boolean =>
    Boolean(symbol.flags & ts.SymbolFlags.Optional) ||
    (member.isUnion() && member.types.some(isAbsent));
  const objectOf = (type: ts.Type, depth: number): Json => {
    const properties: [string, Json][] = [];
    const required: string[] = [];
    for (const symbol of checker.getPropertiesOfType(type)) {
      const member = checker.getTypeOfSymbol(symbol);
      if (isAbsent(member)) continue;
      properties.push([symbol.name, schemaOf(member, depth + 1)]);
      if (!mayLack(symbol, member)) required.push(symbol.name);
    }
    const [index] = checker.getIndexInfosOfType(type);
    // `{}` is every value but null and undefined.
    if (properties.length === 0 && !index) return {};
    return {
      type: 'object',
      ...(properties.length > 0 && { properties: Object.fromEntries(properties) }),
      ...(required.length > 0 && { required }),
      additionalProperties: index ? schemaOf(index.type, depth + 1) : false,
    };
  };
  const schemaOf = (type: ts.Type, depth = 0): Json => {
    if (depth > MAX_DEPTH) return {};
    const known = primitive(type);
    if (known) return known;
    if (type.isUnion()) {
      const types = type.types.filter((one) => !isAbsent(one));
      return oneOf(types.map((one) => schemaOf(one, depth)));
    }
    if (checker.isArrayType(type) || checker.isTupleType(type)) {
      const items = checker.getTypeArguments(type as ts.TypeReference);
      return { type: 'array', items: oneOf(items.map((item) => schemaOf(item, depth + 1))) };
    }
    return type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)
      ? objectOf(type, depth)
      : {};
  };
  return schemaOf;
};

type Made = ts.Expression | ts.ConciseBody;

/** `createListModels` makes `listModels`, `createGetUsage` makes `usage`. */
const endpointIn = (node: ts.Node): string | undefined => {
  let at: ts.Node = node;
  while (!ts.isVariableDeclaration(at)) {
    if (!at.parent) return undefined;
    at = at.parent;
  }
  const name = at.name.getText().replace(/^create(?:Get(?=Usage$))?/, '');
  return name.charAt(0).toLowerCase() + name.slice(1);
};

/** Of a function that satisfies `Operation<'keys.list'>`, or whose type is `Endpoint`, as a variable or as what another one returns. */
const nameOf = (
  node: ts.VariableDeclaration | ts.ArrowFunction | ts.SatisfiesExpression,
): string | undefined => {
  const type = node.type?.getText() ?? '';
  if (type === 'Endpoint' && !ts.isSatisfiesExpression(node)) return endpointIn(node);
  const [, operation] = /^Operation<'([\w.-]+)'>$/.exec(type) ?? [];
  return operation && `admin.${operation}`;
};

const madeBy = (
  node: ts.VariableDeclaration | ts.ArrowFunction | ts.SatisfiesExpression,
): Made | undefined => {
  if (ts.isSatisfiesExpression(node)) return node.expression;
  const made = ts.isVariableDeclaration(node) ? node.initializer : node.body;
  // `free(meter, async () => …)` replies as the function that it is given.
  return made && ts.isCallExpression(made) ? made.arguments.at(-1) : made;
};

/** The functions of a file that reply, by their names. */
const repliersIn = (file: ts.SourceFile): [name: string, made: Made][] => {
  const found: [string, Made][] = [];
  const visit = (node: ts.Node): void => {
    if (
      ts.isVariableDeclaration(node) ||
      ts.isArrowFunction(node) ||
      ts.isSatisfiesExpression(node)
    ) {
      const made = madeBy(node);
      const name = nameOf(node);
      if (name && made) found.push([name, made]);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
};

const ENTRIES = [
  'lambdas/create-admin.ts',
  'lambdas/create-router.ts',
  'lambdas/state/create-state.ts',
];

/** The schema of the JSON that each operation and endpoint replies with, by its name. */
export const readReplySchemas = (): Record<string, Json> => {
  const program = readProgram(ENTRIES);
  const checker = program.getTypeChecker();
  const schemaOf = createSchemaOf(checker);
  const bodyOf = (made: Made): Json | undefined => {
    const [signature] = checker.getTypeAtLocation(made).getCallSignatures();
    const reply = signature && checker.getAwaitedType(signature.getReturnType());
    const replies = reply?.isUnion() ? reply.types : reply ? [reply] : [];
    const bodies = replies.flatMap((one) => {
      const body = one.getProperty('body');
      return body ? [schemaOf(checker.getTypeOfSymbol(body))] : [];
    });
    return bodies.length === 0 ? undefined : oneOf(bodies);
  };
  const schemas = program
    .getSourceFiles()
    .filter(({ fileName }) => fileName.startsWith(`${root}lambdas/`))
    .flatMap(repliersIn)
    .flatMap(([name, made]) => {
      const schema = bodyOf(made);
      return schema ? [[name, schema] as const] : [];
    });
  return Object.fromEntries(schemas);
};
