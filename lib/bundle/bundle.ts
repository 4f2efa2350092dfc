import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import * as z from 'zod';
import type { bundleConsole } from '../../console/bundle.ts';
import { parseModels } from '../../lambdas/catalog/parse-models.ts';
import { buildWithParts, type Parts } from './late-parts.ts';
import { makeFunctionsSkippable } from './skippable-functions.ts';

const fromRoot = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

export type BundleOptions = {
  /** Path from the project's root, e.g. `lambdas/router.ts`. */
  entry: string;
  /** Folder that becomes the function's code; absolute, or relative to the project's root. */
  outdir: string;
  /** Absolute path of the catalog to bundle. @default lambdas/catalog/models.json */
  catalog?: string | undefined;
  /**
   * Source of AWS credentials: environment variables only, as Lambda sets them for functions, or
   * AWS's full chain of providers, which adds 130 KB and 11 ms of CPU.
   * @default 'environment'
   */
  credentials?: 'environment' | 'anywhere';
  /**
   * On Lambda there is no package.json with `type: module`, so Node reads either name as CommonJS.
   * @default 'index.cjs'
   */
  fileName?: 'index.cjs' | 'index.js';
};

export type Bundled = {
  folder: string;
  /** Path of the script that Lambda loads. */
  file: string;
  /** Bytes of each source of which something is in a script, by its path relative to the project's root. */
  sources: Record<string, number>;
};

type Parsed = {
  /** Path of the parsed catalog, which the functions trust. */
  file: string;
  /** Names of its targets' protocols. */
  protocols: Set<string>;
};

const withParsedModels = <Result>(catalog: string, use: (parsed: Parsed) => Result): Result => {
  const folder = mkdtempSync(join(tmpdir(), 'models-'));
  try {
    const file = join(folder, 'models.json');
    const models = parseModels(JSON.parse(readFileSync(catalog, 'utf8')));
    writeFileSync(file, JSON.stringify(models));
    const targets = models.flatMap((model) => model.targets);
    return use({ file, protocols: new Set(targets.map(({ protocol }) => protocol)) });
  } finally {
    rmSync(folder, { recursive: true });
  }
};

const Package = z.object({ imports: z.record(z.string(), z.string()) });

/**
 * What is a file next to the bundle: every `#late/NAME` of package.json but the protocols of this catalog's targets, which most
 * of its requests need.
 */
const lateParts = (protocols: Set<string>): Parts => {
  const { imports } = Package.parse(JSON.parse(readFileSync(fromRoot('package.json'), 'utf8')));
  const late = Object.entries(imports).filter(([specifier]) => {
    const [, name] = /^#late\/(.+)$/.exec(specifier) ?? [];
    return name !== undefined && !protocols.has(name);
  });
  return Object.fromEntries(late);
};

/**
 * Parts that translate requests, and what the first event of a translated stream counts with. Where targets have several protocols, they are loaded while the function starts, since Lambda
 * gives that more CPU than a request.
 */
const TRANSLATION = ['#late/crossing', '#late/encoders', '#late/family-weights'];

/**
 * Bundles an entry for Lambda; synth deploys the result and tests load it.
 * @throws on build errors, or if the catalog is not valid.
 */
export const bundle = (given: BundleOptions): Bundled => {
  const { entry, outdir, catalog = fromRoot('lambdas/catalog/models.json') } = given;
  const { credentials = 'environment', fileName = 'index.cjs' } = given;
  const folder = outdir.startsWith('/') ? outdir : fromRoot(outdir);
  const file = join(folder, fileName);
  return withParsedModels(catalog, ({ file: models, protocols }) => {
    const { scripts, sources } = buildWithParts(entry, {
      parts: lateParts(protocols),
      early: protocols.size > 1 ? TRANSLATION : [],
      stubs: dirname(models),
      file: fileName,
      options: {
        absWorkingDir: fromRoot('.'),
        bundle: true,
        minify: true,
        platform: 'node',
        target: 'node24',
        // Loads in 86 ms of CPU; as ESM it takes 113 ms, because each `node:` import is expensive.
        format: 'cjs',
        // Selects the SDK's ESM sources: only those can be tree-shaken.
        mainFields: ['module', 'main'],
        // `import()` becomes `require`: as a module namespace `node:http` evaluates its lazy members, one of which
        // loads undici, for 21 ms of CPU in the first request.
        supported: { 'dynamic-import': false },
        alias: {
          ...(credentials === 'environment' && {
            '@aws-sdk/credential-provider-node': fromRoot('lib/bundle/env-credentials.ts'),
          }),
          '#models': models,
        },
        define: { 'import.meta.dirname': '__dirname' },
        legalComments: 'none',
        logLevel: 'warning',
      },
    });
    mkdirSync(folder, { recursive: true });
    // Parts of an earlier build that are none any more.
    for (const name of readdirSync(folder)) {
      if (name.startsWith('late-')) rmSync(join(folder, name));
    }
    for (const [name, script] of scripts) {
      writeFileSync(join(folder, name), makeFunctionsSkippable(script));
    }
    return { folder, file, sources };
  });
};

/** Name of the console's files in the folder of a function: one JSON text, read when the page is asked for. */
export const CONSOLE_FILES = 'console.json';

type ConsoleFiles = ReturnType<typeof bundleConsole>;

/** The highest quality, a ninth smaller than gzip, takes 0.3 s of CPU: here, and not in a request. */
export const withBrotli = (files: ConsoleFiles): ConsoleFiles => ({
  ...files,
  assets: Object.fromEntries(
    Object.entries(files.assets).map(([name, asset]) => [
      name,
      { ...asset, brotli: brotliCompressSync(asset.text).toString('base64') },
    ]),
  ),
});

export const addConsole = ({ folder }: Pick<Bundled, 'folder'>, files: ConsoleFiles): void =>
  writeFileSync(join(folder, CONSOLE_FILES), JSON.stringify(files));

/**
 * Bundle options of the Web Function. Its runtime starts `index.js`, and AWS does not document how
 * credentials reach its long-lived environments.
 */
export const WEB_BUNDLE = {
  entry: 'lambdas/web.ts',
  fileName: 'index.js',
  credentials: 'anywhere',
} as const satisfies Partial<BundleOptions>;
