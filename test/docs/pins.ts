import { existsSync, readFileSync } from 'node:fs';

/** A file of the project. */
export const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** A test that a page names: its file, and its title or a part of it as the source spells it. */
type Pin = { file: string; title: string };

export const pinsIn = (text: string): Pin[] =>
  [...text.matchAll(/`(test\/[^`]+\.ts)`: `([^`]+)`/g)].map(([, file = '', title = '']) => ({
    file,
    title,
  }));

export const isThere = ({ file, title }: Pin): boolean =>
  existsSync(new URL(`../../${file}`, import.meta.url)) && read(file).includes(title);
