import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { buildSync, type Metafile } from 'esbuild';
import type { ConsoleFiles } from '../lambdas/admin/console.ts';
import project from '../package.json' with { type: 'json' };

const folder = fileURLToPath(new URL('.', import.meta.url));

const TYPES: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};

/** Sources of which a part is in the outputs of a build. */
export const sourcesIn = ({ outputs }: Metafile): string[] =>
  Object.values(outputs).flatMap(({ inputs }) =>
    Object.keys(inputs).filter((path) => (inputs[path]?.bytesInOutput ?? 0) > 0),
  );

/**
 * Bundles the console for browsers: one page, one script, one style and the document of the API. The names contain
 * a hash, so that browsers keep the files until the next version.
 * @throws on build errors
 */
export const bundleConsole = (): ConsoleFiles => buildConsole().files;

/** The same, with the paths of the sources of which a part is in it. */
export const buildConsole = (): { files: ConsoleFiles; sources: string[] } => {
  const { outputFiles, metafile } = buildSync({
    absWorkingDir: folder,
    entryPoints: { app: 'main.tsx' },
    entryNames: '[name].[hash]',
    outdir: '.',
    write: false,
    metafile: true,
    bundle: true,
    minify: true,
    format: 'esm',
    target: ['chrome123', 'firefox128', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    define: { VERSION: JSON.stringify(project.version) },
    legalComments: 'none',
    logLevel: 'warning',
  });
  const contract = readFileSync(new URL('../docs/openapi.json', import.meta.url), 'utf8');
  const assets: ConsoleFiles['assets'] = {
    'openapi.json': { type: 'application/json', text: contract },
  };
  let page = readFileSync(new URL('page.html', import.meta.url), 'utf8');
  for (const { path, text } of outputFiles) {
    const name = path.slice(path.lastIndexOf('/') + 1);
    const extension = name.slice(name.lastIndexOf('.') + 1);
    assets[name] = { type: TYPES[extension] ?? 'text/plain; charset=utf-8', text };
    page = page.replace(`{{${extension}}}`, name);
  }
  return { files: { page, assets }, sources: sourcesIn(metafile) };
};
