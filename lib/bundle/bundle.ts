import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

const fromRoot = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

export type BundleOptions = {
  /** Path from the project's root, e.g. `lambdas/router.ts`. */
  entry: string;
  /** Folder that becomes the function's code; absolute, or from the project's root. */
  outdir: string;
  /** Absolute path of the catalog that the entry gets instead of the default one. */
  catalog?: string | undefined;
  /**
   * Where AWS credentials come from: the environment alone, as Lambda has it for functions, or wherever
   * the SDK finds any, at 130 KB and 11 ms of CPU more.
   */
  credentials?: 'environment' | 'anywhere';
  /** Outside this project, which is all ESM, either name is read as CommonJS. */
  fileName?: 'index.cjs' | 'index.js';
};

export type Bundled = {
  folder: string;
  /** The one script. */
  file: string;
};

/** Bundles an entry as it runs on Lambda: synth ships this, and tests load it. @throws on build errors. */
export const bundle = ({
  entry,
  outdir,
  catalog,
  credentials = 'environment',
  fileName = 'index.cjs',
}: BundleOptions): Bundled => {
  const folder = outdir.startsWith('/') ? outdir : fromRoot(outdir);
  const file = join(folder, fileName);
  buildSync({
    absWorkingDir: fromRoot('.'),
    entryPoints: [entry],
    outfile: file,
    bundle: true,
    minify: true,
    // Names survive, so that a stack trace of the minified file still says where it happened.
    keepNames: true,
    platform: 'node',
    target: 'node24',
    // 86 ms of CPU to load, against 113 ms as ESM, where each import of a node: module is dear.
    format: 'cjs',
    // The SDK's ESM sources, because only those can be tree-shaken.
    mainFields: ['module', 'main'],
    alias: {
      ...(credentials === 'environment' && {
        '@aws-sdk/credential-provider-node': fromRoot('lib/bundle/env-credentials.ts'),
      }),
      ...(catalog !== undefined && { '#models': catalog }),
    },
    legalComments: 'none',
    logLevel: 'warning',
  });
  return { folder, file };
};

/**
 * What is different about the Web Function: its platform starts `index.js`, and AWS does not say how its
 * credentials get into an environment that lives on.
 */
export const WEB_BUNDLE = {
  entry: 'lambdas/web.ts',
  fileName: 'index.js',
  credentials: 'anywhere',
} as const satisfies Partial<BundleOptions>;
