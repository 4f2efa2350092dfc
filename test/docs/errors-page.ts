/** `npm run errors` writes docs/errors.md from the texts in the code and the rows of error-rows.ts. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ERROR_ROWS } from './error-rows.ts';
import { errorTexts } from './error-texts.ts';

export const ERRORS_PAGE = new URL('../../docs/errors.md', import.meta.url);

const shown = (text: string): string => {
  let depth = 0;
  let out = '';
  for (const letter of text) {
    if (letter === '{') depth += 1;
    if (depth === 0) out += letter;
    if (letter === '}' && --depth === 0) out += '…';
  }
  return out.trim().replaceAll('|', '\\|');
};

/** Only an expression, whose texts another line has. */
const isNameless = (text: string): boolean => /^…\.?$/.test(shown(text));

/** Once: it compiles all functions. */
let found: ReturnType<typeof findTexts> | undefined;
export const textsWithRows = () => {
  found ??= findTexts();
  return found;
};

const findTexts = () => {
  const rows = Object.values(ERROR_ROWS).flat();
  return errorTexts()
    .filter(({ text }) => !isNameless(text))
    .map(({ text, status }) => ({
      text: shown(text),
      status,
      row: rows.find(({ match }) => match.test(text)),
    }));
};

const HEAD = `# Errors

Every error text that the router sends, with its status, cause and remedy. \`…\` stands for what a text names. A stream that ends early
says so after the text of the table: \`The response was interrupted after 3 events; it is not charged. Request req_….\`
No error is charged. The page is written by \`npm run errors\` from the code, and a test compares them.
`;

/** The page as the code has it. */
export const errorsPage = (): string => {
  const texts = textsWithRows();
  const sections = Object.entries(ERROR_ROWS).map(([title, rows]) => {
    const lines = rows.map((row) => {
      const own = texts
        .filter((one) => one.row === row)
        .map(({ text, status }) => `${status} \`${text}\``);
      const listed = [...new Set(own)].toSorted().join('<br>');
      return `| ${listed} | ${row.cause} | ${row.remedy} |`;
    });
    return `\n## ${title}\n\n| Error | Cause | Remedy |\n|---|---|---|\n${lines.join('\n')}\n`;
  });
  return HEAD + sections.join('');
};

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(ERRORS_PAGE, errorsPage());
