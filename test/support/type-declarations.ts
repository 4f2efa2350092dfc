import { existsSync, readFileSync } from 'node:fs';
import { createRequire, findPackageJSON } from 'node:module';
import { dirname, resolve } from 'node:path';
import ts from 'typescript';

/**
 * The declarations of a package's types, parsed without a check of types: milliseconds, where a program of
 * both official SDKs takes 9 s.
 */
export type Declaration =
  | ts.InterfaceDeclaration
  | ts.ClassDeclaration
  | ts.EnumDeclaration
  | ts.TypeAliasDeclaration;
type Module = {
  /** By dotted name: `ChatCompletion.Choice`. */
  declared: Map<string, Declaration>;
  /** Local name -> file; a namespace import names a whole file. */
  imports: Map<string, { path: string; isWhole: boolean }>;
  /** Files of which it exports everything. */
  exports: string[];
  /** Places of its declarations, one object for each. */
  places: Map<string, Place>;
};
/** Where the names of a type are looked up: its module, and the namespaces around it. */
export type Place = { module: Module; scope: string[] };
export type Found = { declaration: Declaration; place: Place };

const require = createRequire(import.meta.url);
const modules = new Map<string, Module>();

const isDeclaration = (one: ts.Statement): one is Declaration =>
  ts.isInterfaceDeclaration(one) ||
  ts.isClassDeclaration(one) ||
  ts.isEnumDeclaration(one) ||
  ts.isTypeAliasDeclaration(one);

const declarationsIn = (statements: readonly ts.Statement[], scope = ''): [string, Declaration][] =>
  statements.flatMap((one): [string, Declaration][] => {
    if (isDeclaration(one) && one.name) return [[`${scope}${one.name.text}`, one]];
    const isSpace = ts.isModuleDeclaration(one) && one.body && ts.isModuleBlock(one.body);
    return isSpace ? declarationsIn(one.body.statements, `${scope}${one.name.text}.`) : [];
  });

/** The declarations that a module names by a path, which may be a folder. */
const fileOf = (specifier: string, importer: string): string => {
  const path = resolve(dirname(importer), specifier.replace(/\.js$/, ''));
  return existsSync(`${path}.d.ts`) ? `${path}.d.ts` : resolve(path, 'index.d.ts');
};

const importsIn = (statements: readonly ts.Statement[], path: string): Module['imports'] =>
  new Map(
    statements.filter(ts.isImportDeclaration).flatMap((one) => {
      const bindings = one.importClause?.namedBindings;
      if (!bindings || !ts.isStringLiteral(one.moduleSpecifier)) return [];
      const from = fileOf(one.moduleSpecifier.text, path);
      const isWhole = ts.isNamespaceImport(bindings);
      const names = isWhole ? [bindings.name] : bindings.elements.map(({ name }) => name);
      return names.map(({ text }) => [text, { path: from, isWhole }] as const);
    }),
  );

const load = (path: string): Module => {
  const known = modules.get(path);
  if (known) return known;
  const text = readFileSync(path, 'utf8');
  const { statements } = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const module: Module = {
    places: new Map(),
    declared: new Map(declarationsIn(statements)),
    imports: importsIn(statements, path),
    exports: statements
      .filter(ts.isExportDeclaration)
      .flatMap(({ exportClause, moduleSpecifier }) =>
        !exportClause && moduleSpecifier && ts.isStringLiteral(moduleSpecifier)
          ? [fileOf(moduleSpecifier.text, path)]
          : [],
      ),
  };
  modules.set(path, module);
  return module;
};

const placeOf = (module: Module, name: string): Place => {
  const place = module.places.get(name) ?? { module, scope: name.split('.') };
  module.places.set(name, place);
  return place;
};

/** The declaration that a dotted name means in a place; undefined for built-in types. */
export const findType = (name: string, { module, scope }: Place): Found | undefined => {
  for (let depth = scope.length; depth >= 0; depth -= 1) {
    const full = [...scope.slice(0, depth), name].join('.');
    const declaration = module.declared.get(full);
    if (declaration) return { declaration, place: placeOf(module, full) };
  }
  const [first = '', ...rest] = name.split('.');
  const imported = module.imports.get(first);
  if (!imported) return undefined;
  const place = { module: load(imported.path), scope: [] };
  return findType(imported.isWhole ? rest.join('.') : name, place);
};

/** The file of a module's declarations; of a whole package the one that it names. */
const declarationsOf = (specifier: string): string => {
  if (!/^@[^/]+\/[^/]+$/.test(specifier)) {
    return require.resolve(specifier).replace(/\.js$/, '.d.ts');
  }
  const path = findPackageJSON(specifier, import.meta.url) ?? '';
  const { typings } = JSON.parse(readFileSync(path, 'utf8'));
  return resolve(dirname(path), typings);
};

/** The types that a file declares, by their dotted names. */
export const typesIn = (path: string): Map<string, Found> => {
  const module = load(path);
  return new Map(
    [...module.declared].map(([name, declaration]) => [
      name,
      { declaration, place: placeOf(module, name) },
    ]),
  );
};

/** Of the file, or of one that it exports as a whole. */
const typeIn = (path: string, name: string): Found | undefined =>
  typesIn(path).get(name) ??
  load(path)
    .exports.map((file) => typeIn(file, name))
    .find((found) => found !== undefined);

/** @throws Error when the module has no such type, e.g. because the package renamed it. */
export const exportedType = (specifier: string, name: string): Found => {
  const found = typeIn(declarationsOf(specifier), name);
  if (!found) throw new Error(`${specifier} has no type ${name}`);
  return found;
};

export type Member = { name: string; type: ts.TypeNode; isOptional: boolean };

export const membersIn = (
  elements: ts.NodeArray<ts.TypeElement> | ts.NodeArray<ts.ClassElement>,
): Member[] =>
  elements.flatMap((one) => {
    if (!(ts.isPropertySignature(one) || ts.isPropertyDeclaration(one)) || !one.type) return [];
    const { name, type, questionToken } = one;
    const isNamed = ts.isIdentifier(name) || ts.isStringLiteral(name);
    return isNamed ? [{ name: name.text, type, isOptional: questionToken !== undefined }] : [];
  });

/** The members of an interface, after those that it inherits. */
export const membersOf = ({ declaration, place }: Found): Member[] => {
  if (!ts.isInterfaceDeclaration(declaration) && !ts.isClassDeclaration(declaration)) return [];
  const bases = (declaration.heritageClauses ?? []).flatMap(({ types }) => types);
  const inherited = bases.flatMap(({ expression }) => {
    const base = findType(expression.getText(), place);
    return base ? membersOf(base) : [];
  });
  return [...inherited, ...membersIn(declaration.members)];
};
