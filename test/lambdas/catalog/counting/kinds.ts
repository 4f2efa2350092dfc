/** Texts of many kinds and languages, the same in every run, on which the gate must not err (context-law.test.ts). */
import { readFileSync } from 'node:fs';
import { TOKEN_SAMPLES } from '../token-samples.ts';
import { drawFrom } from './compose-requests.ts';

type Draw = ReturnType<typeof drawFrom>;

const modules = new URL('../../../../node_modules/', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, modules), 'utf8');

const LANGUAGES =
  'ar be bg bn ca ckb cs da de el eo es fa fi fr gu he hi hr hu hy id is it ja ka km kn ko lt mk ms ne nl nn no ' +
  'pl ps pt ro ru sk sl sv ta tg th tk tr uk ur uz vi yo zh-CN zh-TW';

const messagesOf = (language: string): string =>
  [...read(`zod/v4/locales/${language}.js`).matchAll(/"([^"\n]*)"|`([^`]*)`/g)]
    .map(([, quoted, template]) => quoted ?? template ?? '')
    .filter((text) => text.includes(' ') || /[^ -~]/.test(text))
    .join('\n');

const letters = (alphabet: string, draw: Draw, length: number): string =>
  Array.from({ length }, () => alphabet[draw(alphabet.length)]).join('');
const HEX = '0123456789abcdef';
const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const DIGITS = '0123456789';
const BASE64 = `${LOWER}${LOWER.toUpperCase()}${DIGITS}+/`;
const WORDS = 'order user item cart index node value request cache token stream batch total'.split(
  ' ',
);

const word = (draw: Draw): string => WORDS[draw(WORDS.length)] ?? '';
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
const uuid = (draw: Draw): string =>
  [8, 4, 4, 4, 12].map((length) => letters(HEX, draw, length)).join('-');
const character = (from: number, size: number) => (draw: Draw) =>
  String.fromCodePoint(from + draw(size));

const FACES = character(0x1f600, 80);
const PICTURES = character(0x1f300, 512);
const VEHICLES = character(0x1f680, 72);
const NEWER = character(0x1f900, 256);
const FLAGS = character(0x1f1e6, 26);
const SKINS = character(0x1f3fb, 5);

/** A line of each kind. */
const LINES: Record<string, (draw: Draw) => string> = {
  'emoji, faces': (draw) => FACES(draw).repeat(1 + draw(3)),
  'emoji, pictures': (draw) => `${PICTURES(draw)}${VEHICLES(draw)}`,
  'emoji, newer': (draw) => NEWER(draw),
  'emoji, flags': (draw) => `${FLAGS(draw)}${FLAGS(draw)} `,
  'emoji, people': (draw) => `\u{1f469}${SKINS(draw)}\u200d\u{1f4bb} \u2764\ufe0f `,
  'emoji among words': (draw) => `${FACES(draw)} ${word(draw)} ${PICTURES(draw)} ${word(draw)} `,
  'emoji in a list': (draw) => `- ${PICTURES(draw)} **${word(draw)}**\n`,
  hex: (draw) => `${letters(HEX, draw, 64)}\n`,
  'hex, capitals': (draw) => `${letters(HEX.toUpperCase(), draw, 2)} `,
  'hex, a dump': (draw) =>
    `${letters(HEX, draw, 8)}: ${letters(HEX, draw, 4)} 0x${letters(HEX, draw, 4)}\n`,
  uuids: (draw) => `${uuid(draw)}\n`,
  base64: (draw) => letters(BASE64, draw, 76),
  digits: (draw) => letters(DIGITS, draw, 40),
  numbers: (draw) => `${draw(1_000_000)} `,
  decimals: (draw) => `${draw(1_000) / 100 - 5},`,
  'a matrix': (draw) => `[${draw(10)}, ${draw(10)}, ${draw(10)}]\n`,
  csv: (draw) =>
    `${draw(99_999)},${word(draw)},${draw(100)}.${draw(10)},2026-11-${10 + draw(20)}\n`,
  dates: (draw) =>
    `2026-0${1 + draw(9)}-1${draw(10)}T${10 + draw(14)}:${10 + draw(50)}:${10 + draw(50)}.${100 + draw(900)}Z `,
  'addresses of networks': (draw) =>
    `${draw(256)}.${draw(256)}.${draw(256)}.${draw(256)}:${draw(65_536)} `,
  'random letters': (draw) => `${letters(LOWER, draw, 3 + draw(9))} `,
  'random ASCII': (draw) => String.fromCharCode(33 + draw(94)),
  'names in camelCase': (draw) => `${word(draw)}${capital(word(draw))}${capital(word(draw))}, `,
  NAMES_IN_CAPITALS: (draw) => `${word(draw)}_${word(draw)}_${draw(100)} `.toUpperCase(),
  'a log': (draw) =>
    `[${10 + draw(14)}:${10 + draw(50)}:${10 + draw(50)}] INFO ${word(draw)}#${draw(10_000)} took ${draw(900)}ms\n`,
  'a listing': (draw) =>
    `-rw-r--r--  1 dev  staff  ${draw(90_000)} Nov ${10 + draw(20)} ${word(draw)}-${word(draw)}.ts\n`,
  paths: (draw) => `/srv/${word(draw)}/${word(draw)}/${word(draw)}-${draw(100)}.json\n`,
  links: (draw) =>
    `https://shop.example/${word(draw)}?id=${draw(1e6)}&ref=${letters(LOWER, draw, 6)}\n`,
  'a table': (draw) => `| ${word(draw)} | ${draw(1_000)} | ${word(draw)} |\n|---|---:|---|\n`,
  'lines of boxes': (draw) => `│ ${word(draw).padEnd(8)} │${'─'.repeat(1 + draw(12))}┤\n`,
  mathematics: (draw) => `∑${word(draw)} ∈ ℝ, ∀x ≤ ${draw(9)} ⇒ ∂f/∂x ≠ √${draw(9)}\n`,
  blanks: (draw) => `${' '.repeat(1 + draw(40))}${word(draw)}\n`,
  tabs: (draw) => `${'\t'.repeat(1 + draw(6))}${word(draw)};\n`,
  brackets: (draw) => `${'})];'.slice(0, 1 + draw(4))}\n`,
  signs: (draw) => letters('!#$%&*+-/<=>?@^_~', draw, 5),
  'JSON without blanks': (draw) =>
    `{"${word(draw)}":${draw(100)},"${word(draw)}":"${word(draw)}"},`,
  'JSON, deep': (draw) => `${'  '.repeat(1 + draw(8))}"${word(draw)}": [{\n`,
  'minified JavaScript': (draw) =>
    `${letters(LOWER, draw, 1)}=${letters(LOWER, draw, 1)}=>{${letters(LOWER, draw, 1)}.${word(draw)}(${draw(9)})},`,
  SQL: (draw) =>
    `SELECT ${word(draw)}_id FROM ${word(draw)}s WHERE ${word(draw)} = '${draw(999)}';\n`,
  CSS: (draw) =>
    `.${word(draw)}-${draw(9)} { margin: ${draw(40)}px; color: #${letters(HEX, draw, 6)}; }\n`,
  HTML: (draw) => `<li class="${word(draw)}"><a href="#${draw(99)}">${word(draw)}</a></li>\n`,
  'a stack': (draw) =>
    `    at ${word(draw)}.${word(draw)} (src/${word(draw)}.ts:${draw(400)}:${draw(60)})\n`,
  'a diff': (draw) =>
    `@@ -${draw(90)},6 +${draw(90)},8 @@\n-  ${word(draw)}();\n+  await ${word(draw)}();\n`,
  'rare Chinese': character(0x4e00, 20_000),
  'rare Hangul': character(0xac00, 11_000),
  'mixed scripts': (draw) =>
    [0x41, 0x391, 0x410, 0x5d0, 0x627, 0x905, 0xe01, 0x3042]
      .map((first) => character(first, 20)(draw))
      .join(''),
};

const repeatTo = (text: string, length: number): string =>
  text
    .repeat(Math.ceil(length / text.length))
    .slice(0, length)
    .toWellFormed();

const linesTo = (line: (draw: Draw) => string, length: number): string => {
  const draw = drawFrom(length);
  let text = '';
  while (text.length < length) text += line(draw);
  return text.slice(0, length).toWellFormed();
};

/** What is read whole, and what is read in part. */
const SIZES = [1_500, 12_000];
/** Of each eighth kind: most of it is not read. */
const LONG = 150_000;

const textsOf = (kind: string, textOf: (length: number) => string, index: number) =>
  (index % 8 === 0 ? [...SIZES, LONG] : SIZES).map((size) => ({ kind, text: textOf(size) }));

/** Texts of each kind, of two or three sizes. */
export const readKinds = (): { kind: string; text: string }[] => {
  const kinds: [kind: string, textOf: (length: number) => string][] = [
    ...Object.entries(LINES).map(([kind, line]): (typeof kinds)[number] => [
      kind,
      (length) => linesTo(line, length),
    ]),
    ...TOKEN_SAMPLES.map(({ of, text }): (typeof kinds)[number] => [
      `sample: ${of}`,
      (length) => repeatTo(text, length),
    ]),
    ...LANGUAGES.split(' ').map((language): (typeof kinds)[number] => [
      language,
      (length) => repeatTo(messagesOf(language), length),
    ]),
  ];
  return kinds.flatMap(([kind, textOf], index) => textsOf(kind, textOf, index));
};
