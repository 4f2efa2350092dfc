import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BuildOptions, buildSync, type Metafile, type OutputFile } from 'esbuild';
import ts from 'typescript';

/** Paths of the parts, relative to the project's root, by how sources import them: `#late/NAME`. */
export type Parts = Readonly<Record<string, string>>;

/** What one run of esbuild gives: a script, and which sources are in it. */
type Build = { metafile: Metafile; outputFiles: OutputFile[] };
type Run = (own: BuildOptions) => Build;

/** What parts share with the bundle: names that a source exports, by its path. */
type Shared = [path: string, names: string[]][];

/** File of a part, next to the bundle. */
const fileOf = (specifier: string): string => specifier.replace('#late/', 'late-');

/** Bytes of each source of which something is in the output, by its path. */
const bytesOf = ({ outputs }: Metafile): Record<string, number> =>
  Object.fromEntries(
    Object.values(outputs).flatMap(({ inputs }) =>
      Object.entries(inputs).flatMap(([path, { bytesInOutput }]) =>
        bytesInOutput > 0 ? [[path, bytesInOutput]] : [],
      ),
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

/** Names of the values that a source imports or hands on, by what it calls the module. */
const importsOf = (script: string): Map<string, string[]> => {
  const names = new Map<string, string[]>();
  const { statements } = ts.createSourceFile('source.ts', script, ts.ScriptTarget.Latest);
  for (const statement of statements) {
    const { from, bindings } = bindingsOf(statement) ?? {};
    if (!from || !ts.isStringLiteral(from) || !bindings) continue;
    if (!ts.isNamedImports(bindings) && !ts.isNamedExports(bindings)) continue;
    const values = [...bindings.elements].filter((element) => !element.isTypeOnly);
    const added = values.map(({ name, propertyName }) => (propertyName ?? name).text);
    names.set(from.text, [...(names.get(from.text) ?? []), ...added]);
  }
  return names;
};

/** What `parts` import of sources that are in the bundle. */
const sharedBy = (
  parts: Metafile[],
  { root, isShared }: { root: string; isShared(path: string): boolean },
): Shared => {
  const needed = new Map<string, Set<string>>();
  for (const [path, { imports }] of parts.flatMap(({ inputs }) => Object.entries(inputs))) {
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

/** An entry that also exports what the parts share with it. */
const entryWith = (entry: string, shared: Shared): string => {
  const aliased = shared.map(([, names], index) =>
    names.map((name) => [name, `s${index}_${name}`]),
  );
  const lines = aliased.map((pairs, index) => {
    const bindings = pairs.map(([name, alias]) => `${name} as ${alias}`);
    return `import { ${bindings.join(', ')} } from './${shared[index]?.[0]}';`;
  });
  const members = aliased.map((pairs) => `{ ${pairs.map((pair) => pair.join(': ')).join(', ')} }`);
  return `${lines.join('\n')}\nexport * from './${entry}';\nexport const shared = [${members.join(', ')}];`;
};

/** The parts that a bundle and its parts reach, as they are without what they share. */
const reachedFrom = (
  main: Metafile,
  { parts, run }: { parts: Parts; run: Run },
): Map<string, Metafile> => {
  const reached = new Map<string, Metafile>();
  const follow = ({ inputs }: Metafile): void => {
    for (const { original = '' } of Object.values(inputs).flatMap(({ imports }) => imports)) {
      const path = parts[original];
      if (path === undefined || reached.has(original)) continue;
      const { metafile } = run({ entryPoints: [path] });
      reached.set(original, metafile);
      follow(metafile);
    }
  };
  follow(main);
  return reached;
};

const textOf = ({ outputFiles }: Build): string => outputFiles[0]?.text ?? '';

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
    stubs,
    file,
    options,
  }: {
    parts: Parts;
    /** An empty folder, for the sources that stand for parts. */
    stubs: string;
    /** Name of the bundle's script. */
    file: string;
    options: BuildOptions & { absWorkingDir: string };
  },
): { scripts: Map<string, string>; sources: Record<string, number> } => {
  const { absWorkingDir: root } = options;
  const alias = { ...options.alias };
  const run: Run = (own) => {
    const external = ['./late-*.cjs', ...(own.external ?? [])];
    // In the root: what a part does not hold itself, it names relative to that.
    const outfile = join(root, file);
    return buildSync({
      ...options,
      ...{ outfile, alias },
      ...own,
      external,
      write: false,
      metafile: true,
    });
  };
  for (const [specifier, path] of Object.entries(parts)) {
    const { metafile } = run({ entryPoints: [path], format: 'esm' });
    const names = Object.values(metafile.outputs).flatMap(({ exports }) => exports);
    const stub = join(stubs, `${fileOf(specifier)}.js`);
    writeFileSync(stub, stubOf(specifier, names));
    alias[specifier] = stub;
  }
  const { metafile: main } = run({ entryPoints: [entry] });
  const reached = reachedFrom(main, { parts, run });
  const holders = [main, ...reached.values()].map(bytesOf);
  const isShared = (path: string): boolean =>
    !join(root, path).startsWith(stubs) &&
    (path in (holders[0] ?? {}) || holders.filter((holder) => path in holder).length > 1);
  const shared = sharedBy([...reached.values()], { root, isShared });
  const external = shared.map(([path]) => join(root, path));
  const builds = new Map<string, Build>();
  builds.set(file, run({ stdin: { contents: entryWith(entry, shared), resolveDir: root } }));
  for (const specifier of reached.keys()) {
    builds.set(
      `${fileOf(specifier)}.cjs`,
      run({ entryPoints: [parts[specifier] ?? ''], external }),
    );
  }
  const indexOf = (path: string): number => shared.findIndex(([own]) => own === path);
  const scripts = [...builds].map(([name, build]): [string, string] => [
    name,
    textOf(build).replaceAll(
      /require\("\.\/([^"]+\.ts)"\)/g,
      (_, path: string) => `require("./${file}").shared[${indexOf(path)}]`,
    ),
  ]);
  const sources = [...builds.values()].map(({ metafile }) => Object.entries(bytesOf(metafile)));
  return {
    scripts: new Map(scripts),
    sources: Object.fromEntries(
      sources.flat().filter(([path]) => !join(root, path).startsWith(stubs)),
    ),
  };
};
