import { createInterface } from 'node:readline/promises';
import { CliError } from './cli-error.ts';
import type { Io } from './run.ts';

type Streams = { input: Io['stdin']; output: NodeJS.WritableStream };

/**
 * Asks for confirmation on the terminal.
 * @throws CliError 2 without a terminal, or unless the answer is yes
 */
export const confirm = async (question: string, { input, output }: Streams): Promise<void> => {
  if (!input.isTTY) {
    throw new CliError(
      2,
      `${question}\nConfirmation needed and stdin is not a terminal: pass --yes. Nothing was changed.`,
    );
  }
  const terminal = createInterface({ input, output });
  try {
    const answer = await terminal.question(`${question} Type yes to continue: `);
    if (answer.trim().toLowerCase() === 'yes') return;
  } finally {
    terminal.close();
  }
  throw new CliError(2, 'Nothing was changed.');
};
