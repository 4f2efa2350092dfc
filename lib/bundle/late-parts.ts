import { writeFileSync } from 'node:fs';
import { basename, join, normalize } from 'node:path';
import { type BuildOptions, buildSync, type Metafile, transformSync } from 'esbuild';

/** Paths of the parts, relative to the project's root, by how sources import them: `#late/NAME`. */
export type Parts = Readonly<Record<string, string>>;

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
 * What stands for an export of a part: the part's file is loaded when one of its exports is used for the first time. A function
 * cannot be told from an object before that, so each is a proxy of both.
 */
const LATE = `
export const lateOf = (load) => {
  let loaded;
  const part = () => (loaded ??= load());
  return (name) => new Proxy(function () {}, {
    apply: (_, self, args) => Reflect.apply(part()[name], self, args),
    get: (_, member) => part()[name][member],
  });
};
`;

/** Stands for a part in a bundle. What is not marked pure stays in a bundle that does not use it. */
const stubOf = (specifier: string, names: string[]): string => `
import { lateOf } from './late.js';
const late = /* @__PURE__ */ lateOf(() => module.require('./${fileOf(specifier)}.cjs'));
${names.map((name) => `export const ${name} = /* @__PURE__ */ late('${name}');`).join('\n')}
`;

/** Places in the list of what a bundle shares with its parts, by path and name of the export; the name `*` is for all of them. */
type Places = Map<string, number>;

/** The ES module of a part, with places in that list for its imports of the bundle's sources. Adds the places that it lacks. */
const withPlaces = (module: string, places: Places): string =>
  module.replaceAll(
    /import(?:\{([^}]*)\}|(\*as [\w$]+) )from"\.\/([^"]+\.ts)"/g,
    (_, named: string | undefined, all: string | undefined, path: string) => {
      const bindings = named?.split(',') ?? [all ?? ''];
      const own = bindings.map((binding) => {
        const [, name = '', alias = name] = /^(\*|[\w$]+)(?: ?as ([\w$]+))?$/.exec(binding) ?? [];
        const key = `${path} ${name}`;
        places.set(key, places.get(key) ?? places.size);
        return `${alias}=shared[${places.get(key)}]`;
      });
      return `var ${own.join()}`;
    },
  );

/** An entry that also exports the list of what the parts share with it, and then loads some of them. */
const entryWith = (entry: string, places: Places, early: string[]): string => {
  const imports = [...places].map(([key, place]) => {
    const [path, name] = key.split(' ');
    return `import ${name === '*' ? `* as s${place}` : `{ ${name} as s${place} }`} from './${path}';`;
  });
  const shared = [...places.values()].map((place) => `s${place}`);
  const loads = early.map((specifier) => `require('./${fileOf(specifier)}.cjs');`);
  return `${imports.join('\n')}\nexport * from './${entry}';\nexport const shared = [${shared}];\n${loads.join('\n')}`;
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

/** Names of the parts that a bundle and its parts reach. */
const reachedFrom = (entry: string, { parts, metafile }: { parts: Parts; metafile: Metafile }) => {
  const reached = new Set<string>();
  const follow = (path: string): void => {
    const sources = importedBy(normalize(path), metafile);
    const imports = [...sources].flatMap((source) => metafile.inputs[source]?.imports ?? []);
    for (const { original = '' } of imports) {
      const own = parts[original];
      if (own === undefined || reached.has(original)) continue;
      reached.add(original);
      follow(own);
    }
  };
  follow(entry);
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
  const run = (own: BuildOptions) =>
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
  writeFileSync(join(stubs, 'late.js'), LATE);
  for (const specifier of all) {
    const stub = join(stubs, `${fileOf(specifier)}.js`);
    writeFileSync(stub, stubOf(specifier, modules[`${fileOf(specifier)}.js`]?.exports ?? []));
    alias[specifier] = stub;
  }
  const { metafile } = run({
    entryPoints: [{ in: join(root, entry), out: MAIN }, ...pointsOf(all)],
  });
  const reached = reachedFrom(entry, { parts, metafile });
  const [main = {}, ...held] = [MAIN, ...[...reached].map(fileOf)].map((name) => {
    const output = metafile.outputs[`${name}.js`];
    return output ? bytesOf(output) : {};
  });
  const isShared = (path: string): boolean =>
    !join(root, path).startsWith(stubs) &&
    (path in main || held.filter((holder) => path in holder).length > 1);
  const { target = 'esnext', minify = false } = options;
  // Written once more, one declaration serves for those of several sources: 1.5 KB less of the bundle.
  const shortened = (script: string): string =>
    transformSync(script, { format: 'cjs', platform: 'node', target, minify }).code;
  const ofParts = run({
    entryPoints: pointsOf(reached),
    format: 'esm',
    external: Object.keys(metafile.inputs)
      .filter(isShared)
      .map((path) => join(root, path)),
  });
  const places: Places = new Map();
  const scripts = ofParts.outputFiles.map(({ path, text }): [name: string, script: string] => {
    const head = `"use strict";const{shared}=require("./${file}");`;
    return [`${basename(path, '.js')}.cjs`, shortened(head + withPlaces(text, places))];
  });
  const isReached = (specifier: string): boolean => reached.has(specifier);
  const contents = entryWith(entry, places, early.filter(isReached));
  const ofEntry = run({ stdin: { contents, resolveDir: root, sourcefile: MAIN } });
  for (const { text } of ofEntry.outputFiles) {
    // Code that never runs, by which Node finds the exports of CommonJS for one who imports it.
    const [names = ''] = /0&&\(module\.exports=\{[^}]*\}\);\s*$/.exec(text) ?? [];
    scripts.push([file, shortened(text) + names]);
  }
  const outputs = [ofEntry, ofParts].flatMap((build) => Object.values(build.metafile.outputs));
  const sources = outputs.flatMap((output) => Object.entries(bytesOf(output)));
  return {
    scripts: new Map(scripts),
    sources: Object.fromEntries(sources.filter(([path]) => !join(root, path).startsWith(stubs))),
  };
};
