import { createInterface } from 'node:readline/promises';
import { CliError } from './cli-error.ts';

export type Stdin = NodeJS.ReadableStream & { isTTY?: boolean };

type Streams = { input: Stdin; output: NodeJS.WritableStream };

/**
 * Asks for confirmation on the terminal.
 * @throws CliError 2 without a terminal, or unless the answer is yes
 */
export const confirm = async (question: string, { input, output }: Streams): Promise<void> => {
  if (!input.isTTY) {
    throw new CliError(
      2,
      `Nothing was changed: confirmation needed, and stdin is not a terminal. With --yes: ${question}`,
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
