import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/** Creates a folder and those that it is in. With `recursive`, Node never returns for one in /proc. @throws an error of the system */
export const makeFolder = (folder: string, mode = 0o777): void => {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder), mode);
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    // Another process was faster.
    if (!existsSync(folder)) throw error;
  }
};
