/**
 * The texts that the estimate is checked on, from packages that are installed for other reasons. None of them was used
 * to fit it (docs/decisions/0005-token-estimate.md).
 */
import { readFileSync } from 'node:fs';
import { composeRequest, type Sources, type ToolSource } from './compose-requests.ts';

const packages = new URL('../../../../node_modules/', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, packages), 'utf8');

const MESSAGES = 'cs de es fr it ja ko pl pt-br ru tr zh-cn zh-tw'.split(' ');
const READMES = '.md .es.md .fr.md .hi.md .ja.md .kr.md .pl.md .pt-BR.md .ru.md .uk.md'.split(' ');
const LOCALES = 'ar bg ca da el fa fi he hu id lt nl no sv th vi'.split(' ');

/** Two parts of TypeScript's messages, which are sentences with names in them. */
const messagesIn = (language: string): string[] => {
  const json = JSON.parse(read(`typescript/lib/${language}/diagnosticMessages.generated.json`));
  const text = Object.values(json).join('\n');
  return [0.12, 0.52].map((share) => {
    const from = Math.floor(text.length * share);
    return text.slice(from, from + 8_000);
  });
};

const textsIn = (locale: string): string =>
  [...read(`zod/v4/locales/${locale}.js`).matchAll(/"([^"\n]*)"|`([^`]*)`/g)]
    .map(([, quoted, template]) => quoted ?? template ?? '')
    .filter((text) => text.includes(' '))
    .join('\n');

/** Documents in 30 languages, by their source. */
export const readDocuments = (): [source: string, text: string][] => [
  ...MESSAGES.flatMap((language) =>
    messagesIn(language).map((text, part): [string, string] => [
      `typescript ${language} ${part}`,
      text,
    ]),
  ),
  ...READMES.map((end): [string, string] => [
    `biome README${end}`,
    read(`@biomejs/biome/README${end}`).slice(0, 8_000),
  ]),
  ...LOCALES.map((locale): [string, string] => [`zod ${locale}`, textsIn(locale)]),
  ['anthropic CHANGELOG', read('@anthropic-ai/sdk/CHANGELOG.md').slice(0, 8_000)],
];

type Definition = { type?: unknown; description?: string; enum?: unknown; properties?: object };

const propertyOf = ({ type, description, enum: values }: Definition) => ({
  type: typeof type === 'string' ? type : 'string',
  ...(description && { description }),
  ...(Array.isArray(values) && { enum: values.map(String) }),
});

/** As tools are: a few members, each with a description. */
const isDescribed = (members: Definition[]): boolean =>
  members.length > 0 && members.length < 12 && members.every(({ description }) => description);

/** A tool of each definition that could be one. */
const toolsIn = (definitions: Record<string, Definition>): ToolSource[] =>
  Object.entries(definitions)
    .filter(([, { properties = {} }]) => isDescribed(Object.values(properties)))
    .map(([name, { description = '', properties = {} }]) => {
      const members = Object.entries(properties);
      return {
        name: name.replace(/[^A-Za-z]+/g, '_').slice(0, 40),
        description,
        properties: Object.fromEntries(members.map(([key, value]) => [key, propertyOf(value)])),
        required: members.slice(0, 2).map(([key]) => key),
      };
    });

const PROMPTS = ['zod', 'ai', 'knip', 'picomatch', 'acorn', 'smol-toml', 'micromatch', 'cdk-nag'];
const FILES = [
  'zod/v4/core/schemas.js',
  'zod/src/v4/core/util.ts',
  'vite/dist/node/index.d.ts',
  '@anthropic-ai/sdk/src/client.ts',
  '@anthropic-ai/sdk/package.json',
  'acorn/dist/acorn.js',
  'picomatch/lib/parse.js',
  'enhanced-resolve/lib/Resolver.js',
];

const readSources = (): Sources => {
  const schema = JSON.parse(read('@biomejs/biome/configuration_schema.json'));
  return {
    prompts: PROMPTS.map((name) => read(`${name}/README.md`)).filter(
      ({ length }) => length > 2_000,
    ),
    tools: toolsIn(schema.$defs ?? schema.definitions),
    files: FILES.map(read),
  };
};

const REQUESTS = 60;

/** Each request draws on a quarter of the files, so that another version of one package changes a quarter of them. */
export const readRequests = () => {
  const { prompts, tools, files } = readSources();
  return Array.from({ length: REQUESTS }, (_, seed) => {
    const quarter = (texts: string[]) => texts.filter((__, index) => index % 4 === seed % 4);
    return composeRequest({ prompts: quarter(prompts), tools, files: quarter(files) }, seed);
  });
};
