/** Prints what sessions cost at a provider with a prompt cache; exits with 1 if one of them costs more than it may. */
import { openStage } from '../../test/support/sessions/play.ts';
import { logOf, type Proof, proofsOf, ratioOf } from '../../test/support/sessions/proof.ts';

const WIDTHS = [30, 10, 8, 20, 10, 8];
const printRow = (cells: (string | number)[]) =>
  console.log(
    cells
      .map((cell, at) => String(cell).padEnd(WIDTHS[at] ?? 0))
      .join('')
      .trimEnd(),
  );

const nameOf = ({ kind, name }: Proof): string =>
  kind === 'loop' ? 'loop around the SDK' : kind === 'single' ? `single, ${name}` : String(name);

printRow(['client', 'target', 'steps', 'of', 'billed', 'most']);
for (const proof of proofsOf()) {
  const stage = await openStage(proof.options);
  const ratio = await ratioOf(stage, proof);
  const { length: steps } = logOf(stage);
  await stage.close();
  const mark = ratio > proof.most ? 'MORE' : '';
  if (mark) process.exitCode = 1;
  printRow([nameOf(proof), proof.on, steps, proof.of, ratio.toFixed(3), proof.most, mark]);
}
