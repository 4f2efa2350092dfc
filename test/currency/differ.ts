import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import type { ObjectRow, Row } from '../../lambdas/protocols/ledger/fates/rows.ts';
import { type Found, membersOf, typesIn } from '../support/type-declarations.ts';
import { type Form, formsOf, formsOfFound, itemOf } from '../support/type-forms.ts';

/** What an official SDK declares: members of types, words of unions, and what its client sends by default. */
export type Declared = {
  /** `Interface.member` with its type. */
  members: Map<string, string>;
  /** Values of `type` of events, blocks, items and tools. */
  kinds: Set<string>;
  /** Words of the unions of texts, such as betas and models, as `Type word`. */
  words: Set<string>;
  defaults: Set<string>;
};

const FILES: Record<string, string[]> = {
  openai: ['responses/responses', 'chat/completions/completions', 'shared'],
  '@anthropic-ai/sdk': ['messages/messages', 'beta/messages/messages', 'beta/beta'],
};

const filesOf = (name: string, root: string): string[] =>
  (
    FILES[name]?.map((file) => join(root, 'resources', `${file}.d.ts`)) ?? [
      join(root, 'dist/genai.d.ts'),
    ]
  ).filter((path) => existsSync(path));

/** What a client sends unless it is told otherwise: the version, and the header of the credential. */
const DEFAULT =
  /'anthropic-version': ?'[\d-]+'|(?:'X-Api-Key'|Authorization): [^,})]+|'x-goog-api-key'/gi;

const defaultsOf = (root: string): string[] => {
  const path = join(root, 'client.js');
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  return [...text.matchAll(DEFAULT)].map(([found]) => found);
};

const wordsIn = (type: ts.TypeNode): string[] =>
  ts.isUnionTypeNode(type)
    ? type.types.flatMap((one) =>
        ts.isLiteralTypeNode(one) && ts.isStringLiteral(one.literal) ? one.literal.text : [],
      )
    : [];

const read = (declared: Declared, typeName: string, found: Found) => {
  const { declaration } = found;
  const words = ts.isTypeAliasDeclaration(declaration) ? wordsIn(declaration.type) : [];
  for (const word of words) declared.words.add(`${typeName} ${word}`);
  for (const { name, type } of membersOf(found)) {
    const text = type.getText().replaceAll(/\s+/g, ' ');
    declared.members.set(`${typeName}.${name}`, text);
    const kinds = name === 'type' ? [...text.matchAll(/'([^']+)'/g)] : [];
    for (const [, kind = ''] of kinds) declared.kinds.add(kind);
  }
};

/** Reads the declarations of a package in the folder `root`. */
export const declaredIn = (name: string, root: string): Declared => {
  const declared: Declared = {
    ...{ members: new Map(), kinds: new Set(), words: new Set() },
    defaults: new Set(defaultsOf(root)),
  };
  for (const path of filesOf(name, root)) {
    const stage = path.includes('/beta/') ? 'beta ' : '';
    for (const [typeName, found] of typesIn(path)) read(declared, `${stage}${typeName}`, found);
  }
  return declared;
};

const added = (before: Iterable<string>, after: Iterable<string>): string[] => {
  const known = new Set(before);
  return [...after].filter((one) => !known.has(one));
};

/** A line for each difference: `+` is new, `-` is gone, `~` has another type. */
export const differencesOf = (before: Declared, after: Declared): string[] => {
  const told = ([what, old, now]: [string, Iterable<string>, Iterable<string>]) => [
    ...added(old, now).map((one) => `+ ${what} ${one}`),
    ...added(now, old).map((one) => `- ${what} ${one}`),
  ];
  const changed = [...after.members].flatMap(([member, type]) => {
    const old = before.members.get(member);
    return old === undefined || old === type ? [] : [`~ member ${member}: ${old} -> ${type}`];
  });
  return [
    ...told(['member', before.members.keys(), after.members.keys()]),
    ...changed.filter((line) => line.length < 400),
    ...told(['kind', before.kinds, after.kinds]),
    ...told(['word', before.words, after.words]),
    ...told(['default', before.defaults, after.defaults]),
  ];
};

// --- request members without a row ---

/** The values of a member that are texts. */
const literalsOf = (form: Form, name: string): string[] =>
  (form.members ?? []).flatMap((member) => {
    if (member.name !== name) return [];
    return formsOf(member.type, form.place).flatMap(({ type }) =>
      ts.isLiteralTypeNode(type) && ts.isStringLiteral(type.literal) ? type.literal.text : [],
    );
  });

type Kinds = Extract<Row, { is: 'kinds' }>;

const rowOfKind = ({ rows, dated }: Kinds, kind: string): Row | undefined =>
  rows[kind] ?? (dated?.pattern.test(kind) ? dated.row : undefined);

/** The paths of the members of a request type for which a table of fates has no row. */
export const rowlessIn = (path: string, typeName: string, table: ObjectRow): string[] => {
  const rowless = new Set<string>();
  const met = new Map<unknown, Set<unknown>>();

  const objectOf = (form: Form, row: ObjectRow, at: string) => {
    for (const { name, type } of form.members ?? []) {
      const inner = at === '' ? name : `${at}.${name}`;
      const next = row.members[name];
      if (next) walk(formsOf(type, form.place), next, inner);
      else rowless.add(inner);
    }
  };

  const kindsOf = (form: Form, row: Kinds, at: string) => {
    const kinds = literalsOf(form, row.by);
    for (const kind of kinds.length > 0 ? kinds : [row.usual]) {
      const next = rowOfKind(row, kind);
      if (next) walk([form], next, `${at}[${kind}]`);
      else rowless.add(`${at}[${kind}]`);
    }
  };

  const isMet = ({ type }: Form, row: Row): boolean => {
    const seen = met.get(type) ?? new Set();
    met.set(type, seen);
    return seen.size === seen.add(row).size;
  };

  const walk = (forms: Form[], row: Row, at: string): void => {
    for (const form of forms.filter((one) => !isMet(one, row))) {
      const item = itemOf(form);
      const inner = row.is === 'list' ? row.item : row;
      if (item) walk(formsOf(item, form.place), inner, at);
      else if (row.is === 'object') objectOf(form, row, at);
      else if (row.is === 'kinds' && form.members) kindsOf(form, row, at);
    }
  };

  const found = typesIn(path).get(typeName);
  if (!found) throw new Error(`${path} has no type ${typeName}`);
  walk(formsOfFound(found), table, '');
  return [...rowless];
};
