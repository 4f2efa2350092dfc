import { createInterface } from 'node:readline/promises';
import { CliError } from './cli-error.ts';

type Streams = { input: NodeJS.ReadStream; output: NodeJS.WritableStream };

/** Asks a person; where nobody can answer, refuses. @throws CliError 2 unless the answer is yes. */
export const confirm = async (question: string, { input, output }: Streams): Promise<void> => {
  if (!input.isTTY) {
    throw new CliError(
      2,
      `${question}\nNobody is here to confirm it: add --yes. Nothing was done.`,
    );
  }
  const terminal = createInterface({ input, output });
  try {
    const answer = await terminal.question(`${question} Type yes to go on: `);
    if (answer.trim().toLowerCase() === 'yes') return;
  } finally {
    terminal.close();
  }
  throw new CliError(2, 'Nothing was done.');
};
