import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import project from '../../package.json' with { type: 'json' };

const root = fileURLToPath(new URL('../..', import.meta.url));

const Manifest = z.object({ name: z.string(), version: z.string(), license: z.string() });

export type Part = z.infer<typeof Manifest> & { folder: string };

/** The folder of the package that a source belongs to; it may be in that of another one. */
const PACKAGE = /^(?:node_modules\/(?:@[^/]+\/)?[^/]+\/)+/;

/** The packages that a bundle holds, by the paths of its sources, sorted by name. */
export const partsOf = (sources: string[]): Part[] => {
  const folders = sources.flatMap((path) => {
    const [folder] = PACKAGE.exec(path.slice(path.indexOf('node_modules/'))) ?? [];
    return folder === undefined ? [] : [folder];
  });
  return [...new Set(folders)]
    .map((folder) => ({
      folder,
      ...Manifest.parse(JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))),
    }))
    .toSorted((one, other) => (one.folder < other.folder ? -1 : 1));
};

const purlOf = ({ name, version }: Part): string =>
  `pkg:npm/${name.replace('@', '%40')}@${version}`;

/** A CycloneDX document, the same for the same bundle: without its optional serial number and time. */
export const billOfMaterials = (parts: Part[]): object => ({
  bomFormat: 'CycloneDX',
  specVersion: '1.5',
  version: 1,
  metadata: {
    component: {
      type: 'application',
      'bom-ref': `pkg:npm/${project.name}@${project.version}`,
      name: project.name,
      version: project.version,
      licenses: [{ license: { id: project.license } }],
    },
  },
  components: parts.map((part) => ({
    type: 'library',
    'bom-ref': purlOf(part),
    name: part.name,
    version: part.version,
    purl: purlOf(part),
    licenses: [{ license: { id: part.license } }],
  })),
});

const licenseText = ({ folder }: Part): string => {
  const name = readdirSync(join(root, folder)).find((file) => /^licen[cs]e/i.test(file));
  return name !== undefined && existsSync(join(root, folder, name))
    ? readFileSync(join(root, folder, name), 'utf8').trim()
    : '(The package has no file with the text of its license.)';
};

/** The licenses that the bundle's parts ask to be passed on. */
export const licenseList = (parts: Part[]): string =>
  `${parts
    .map((part) => `${part.name} ${part.version} (${part.license})\n\n${licenseText(part)}\n`)
    .join(`\n${'-'.repeat(80)}\n\n`)}`;
