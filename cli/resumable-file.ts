import { open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import * as z from 'zod';
import { messageOf, usageError } from './cli-error.ts';

/** How far an export is: what was asked for, the bytes that are written, and where it continues. */
const Checkpoint = z.object({
  asked: z.string(),
  path: z.string(),
  bytes: z.number(),
  count: z.number(),
});
export type Checkpoint = z.infer<typeof Checkpoint>;

const readCheckpoint = async (file: string): Promise<Checkpoint | undefined> => {
  const text = await readFile(file, 'utf8').catch(() => 'null');
  try {
    return Checkpoint.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
};

/** A piece of the file, how many rows it has, and the path of the next one. */
export type Piece = { text: string; count: number; next: string | undefined };

/**
 * Writes a file piece by piece, which has its name once it is whole. A run that was killed is continued by the next one with the
 * same `asked`: what was written after the last checkpoint is cut off and written again, so that no piece is in it twice.
 * Returns the number of rows. @throws CliError if the file cannot be written
 */
export const writeResumable = async (
  out: string,
  first: Pick<Checkpoint, 'asked' | 'path'>,
  read: (path: string, isFirst: boolean) => Promise<Piece>,
): Promise<number> => {
  const [partial, notes] = [`${out}.partial`, `${out}.checkpoint`];
  const earlier = await readCheckpoint(notes);
  const isSame = earlier?.asked === first.asked;
  let { path, bytes, count } = isSame ? earlier : { ...first, bytes: 0, count: 0 };
  const file = await open(partial, isSame ? 'r+' : 'w').catch((cause: unknown) => {
    throw usageError(`--out ${out} cannot be written: ${messageOf(cause)}.`, { cause });
  });
  try {
    await file.truncate(bytes);
    for (let next: string | undefined = path; next !== undefined; ) {
      const piece: Piece = await read(next, bytes === 0);
      const data = Buffer.from(piece.text);
      await file.write(data, 0, data.byteLength, bytes);
      await file.datasync();
      bytes += data.byteLength;
      count += piece.count;
      next = piece.next;
      if (next === undefined) break;
      path = next;
      // Renamed: a checkpoint is never half written.
      await writeFile(`${notes}.new`, JSON.stringify({ asked: first.asked, path, bytes, count }));
      await rename(`${notes}.new`, notes);
    }
  } finally {
    await file.close();
  }
  await rm(notes, { force: true });
  await rename(partial, out);
  return count;
};
