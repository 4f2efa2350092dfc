import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join, normalize } from 'node:path';
import { type BuildOptions, buildSync, type Metafile, type OutputFile } from 'esbuild';
import ts from 'typescript';

/** Paths of the parts, relative to the project's root, by how sources import them: `#late/NAME`. */
export type Parts = Readonly<Record<string, string>>;

/** What one run of esbuild gives: scripts, and which sources are in them. */
type Build = { metafile: Metafile; outputFiles: OutputFile[] };

/** What parts share with the bundle: names that a source exports, by its path. */
type Shared = [path: string, names: string[]][];
type Sharing = { root: string; isShared(path: string): boolean };

/** Name of the output of an entry; those of parts begin with `late-`. */
const MAIN = 'main';

/** File of a part, next to the bundle. */
const fileOf = (specifier: string): string => specifier.replace('#late/', 'late-');

/** Bytes of each source of which something is in an output, by its path. */
const bytesOf = ({ inputs }: Metafile['outputs'][string]): Record<string, number> =>
  Object.fromEntries(
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) =>
      bytesInOutput > 0 ? [[path, bytesInOutput]] : [],
    ),
  );

/**
 * Stands for a part in a bundle: the part's file is loaded when one of its exports is used for the first time. A function
 * cannot be told from an object before that, so each is a proxy of both.
 */
const stubOf = (specifier: string, names: string[]): string => `
const late = (name) => new Proxy(function () {}, {
  apply: (_, self, args) => Reflect.apply(load()[name], self, args),
  get: (_, member) => load()[name][member],
});
let loaded;
const load = () => (loaded ??= require('./${fileOf(specifier)}.cjs'));
${names.map((name) => `export const ${name} = late('${name}');`).join('\n')}
`;

/** Bindings of `import { … } from` and `export { … } from`. */
const bindingsOf = (statement: ts.Statement) => {
  if (ts.isImportDeclaration(statement)) {
    const { importClause, moduleSpecifier: from } = statement;
    return { from, bindings: importClause?.isTypeOnly ? undefined : importClause?.namedBindings };
  }
  if (!ts.isExportDeclaration(statement)) return undefined;
  const { exportClause, isTypeOnly, moduleSpecifier: from } = statement;
  return { from, bindings: isTypeOnly ? undefined : exportClause };
};

/** What a source reads of a module that it imports as `name`. */
const readOf = (node: ts.Node, name: string): string[] => {
  if (ts.isPropertyAccessExpression(node) && node.expression.getText() === name)
    return [node.name.text];
  const { kind } = node;
  if (kind === ts.SyntaxKind.TypeReference || kind === ts.SyntaxKind.TypeQuery) return [];
  return node.getChildren().flatMap((child) => readOf(child, name));
};

/** Names of the values that a source imports or hands on, by what it calls the module. */
const importsOf = (script: string): Map<string, string[]> => {
  const names = new Map<string, string[]>();
  const source = ts.createSourceFile('source.ts', script, ts.ScriptTarget.Latest, true);
  const valuesOf = (bindings: NonNullable<ReturnType<typeof bindingsOf>>['bindings']): string[] => {
    if (!bindings) return [];
    if (ts.isNamespaceImport(bindings)) return readOf(source, bindings.name.text);
    if (!ts.isNamedImports(bindings) && !ts.isNamedExports(bindings)) return [];
    const values = [...bindings.elements].filter((element) => !element.isTypeOnly);
    return values.map(({ name, propertyName }) => (propertyName ?? name).text);
  };
  for (const statement of source.statements) {
    const { from, bindings } = bindingsOf(statement) ?? {};
    if (!from || !ts.isStringLiteral(from)) continue;
    names.set(from.text, [...(names.get(from.text) ?? []), ...valuesOf(bindings)]);
  }
  return names;
};

/** What `sources`, which only parts hold, import of sources that are in the bundle. */
const sharedBy = (
  sources: Set<string>,
  { inputs, root, isShared }: Pick<Metafile, 'inputs'> & Sharing,
): Shared => {
  const needed = new Map<string, Set<string>>();
  for (const path of sources) {
    const imports = inputs[path]?.imports ?? [];
    const fromBundle = isShared(path) ? [] : imports.filter((imported) => isShared(imported.path));
    const names =
      fromBundle.length === 0 ? undefined : importsOf(readFileSync(join(root, path), 'utf8'));
    for (const { path: imported, original = '' } of fromBundle) {
      const values = needed.get(imported) ?? new Set();
      for (const name of names?.get(original) ?? []) values.add(name);
      needed.set(imported, values);
    }
  }
  return [...needed].map(([path, values]) => [path, [...values].sort()]);
};

/** An entry that also exports what the parts share with it, and then loads some of them. */
const entryWith = (entry: string, shared: Shared, early: string[]): string => {
  const aliased = shared.map(([, names], index) =>
    names.map((name) => [name, `s${index}_${name}`]),
  );
  const lines = aliased.map((pairs, index) => {
    const bindings = pairs.map(([name, alias]) => `${name} as ${alias}`);
    return `import { ${bindings.join(', ')} } from './${shared[index]?.[0]}';`;
  });
  const members = aliased.map((pairs) => `{ ${pairs.map((pair) => pair.join(': ')).join(', ')} }`);
  const loads = early.map((specifier) => `require('./${fileOf(specifier)}.cjs');`);
  return `${lines.join('\n')}\nexport * from './${entry}';\nexport const shared = [${members.join(', ')}];\n${loads.join('\n')}`;
};

/** A source and every other that it imports, directly or through others. */
const importedBy = (path: string, { inputs }: Pick<Metafile, 'inputs'>): Set<string> => {
  const found = new Set([path]);
  // A set also iterates over what is added meanwhile.
  for (const source of found) {
    for (const imported of inputs[source]?.imports ?? []) found.add(imported.path);
  }
  return found;
};

/** The sources of each part that a bundle and its parts reach, by how sources import it. */
const reachedFrom = (
  entry: string,
  { parts, metafile }: { parts: Parts; metafile: Metafile },
): Map<string, Set<string>> => {
  const reached = new Map<string, Set<string>>();
  const follow = (sources: Set<string>): void => {
    const imports = [...sources].flatMap((source) => metafile.inputs[source]?.imports ?? []);
    for (const { original = '' } of imports) {
      const path = parts[original];
      if (path === undefined || reached.has(original)) continue;
      const own = importedBy(normalize(path), metafile);
      reached.set(original, own);
      follow(own);
    }
  };
  follow(importedBy(entry, metafile));
  return reached;
};

/**
 * Scripts of an entry, by file name, and the bytes of each source in them. Each part that the entry reaches is a file next to
 * the bundle, loaded at its first use: a cold start does not compile what its requests do not need. Parts use the bundle's
 * copy of what both need, so a class or a state of a module exists once.
 *
 * esbuild itself splits only ESM, which takes longer to load than CommonJS (bundle.ts).
 */
export const buildWithParts = (
  entry: string,
  {
    parts,
    early,
    stubs,
    file,
    options,
  }: {
    parts: Parts;
    /** Those that are loaded with the bundle, if the entry reaches them. */
    early: string[];
    /** An empty folder, for the sources that stand for parts. */
    stubs: string;
    /** Name of the bundle's script. */
    file: string;
    options: BuildOptions & { absWorkingDir: string };
  },
): { scripts: Map<string, string>; sources: Record<string, number> } => {
  const { absWorkingDir: root } = options;
  const alias = { ...options.alias };
  // esbuild starts a process and parses every source in each run, so a run builds all parts.
  const run = (own: BuildOptions): Build =>
    buildSync({
      ...options,
      alias,
      // In the root: what a part does not hold itself, it names relative to that.
      outdir: root,
      ...own,
      external: ['./late-*.cjs', ...(own.external ?? [])],
      write: false,
      metafile: true,
    });
  const pointsOf = (specifiers: Iterable<string>) =>
    [...specifiers].map((name) => ({ in: join(root, parts[name] ?? ''), out: fileOf(name) }));
  const all = Object.keys(parts);
  // For the names that parts export, esbuild needs their own sources only. None has `export *`, with which a build would fail.
  const { outputs: modules } = buildSync({
    entryPoints: pointsOf(all),
    outdir: root,
    format: 'esm',
    write: false,
    metafile: true,
  }).metafile;
  for (const specifier of all) {
    const stub = join(stubs, `${fileOf(specifier)}.js`);
    writeFileSync(stub, stubOf(specifier, modules[`${fileOf(specifier)}.js`]?.exports ?? []));
    alias[specifier] = stub;
  }
  const { metafile } = run({
    entryPoints: [{ in: join(root, entry), out: MAIN }, ...pointsOf(all)],
  });
  const reached = reachedFrom(entry, { parts, metafile });
  const [main = {}, ...held] = [MAIN, ...[...reached.keys()].map(fileOf)].map((name) => {
    const output = metafile.outputs[`${name}.js`];
    return output ? bytesOf(output) : {};
  });
  const isShared = (path: string): boolean =>
    !join(root, path).startsWith(stubs) &&
    (path in main || held.filter((holder) => path in holder).length > 1);
  const ofParts = new Set([...reached.values()].flatMap((sources) => [...sources]));
  const shared = sharedBy(ofParts, { ...metafile, root, isShared });
  const contents = entryWith(
    entry,
    shared,
    early.filter((specifier) => reached.has(specifier)),
  );
  const builds = [
    run({ stdin: { contents, resolveDir: root, sourcefile: MAIN } }),
    run({
      entryPoints: pointsOf(reached.keys()),
      external: shared.map(([path]) => join(root, path)),
    }),
  ];
  const indexOf = (path: string): number => shared.findIndex(([own]) => own === path);
  const withShared = (script: string): string =>
    script.replaceAll(
      /require\("\.\/([^"]+\.ts)"\)/g,
      (_, path: string) => `require("./${file}").shared[${indexOf(path)}]`,
    );
  const nameOf = (path: string): string => {
    const name = basename(path, '.js');
    return name.startsWith('late-') ? `${name}.cjs` : file;
  };
  const outputs = builds.flatMap((build) => Object.values(build.metafile.outputs));
  const sources = outputs.flatMap((output) => Object.entries(bytesOf(output)));
  return {
    scripts: new Map(
      builds.flatMap(({ outputFiles }) =>
        outputFiles.map(({ path, text }) => [nameOf(path), withShared(text)] as const),
      ),
    ),
    sources: Object.fromEntries(sources.filter(([path]) => !join(root, path).startsWith(stubs))),
  };
};
