import { readFileSync } from 'node:fs';
import type { ConsoleFiles, ConsoleParts } from './admin/console.ts';
import type { AdminEnv } from './env.ts';

/** The console of the stage; its files are read at the first request of its page. Undefined if the stage has none. */
export const readConsole = (
  env: Pick<AdminEnv, 'STAGE'> & Partial<AdminEnv>,
): ConsoleParts | undefined => {
  const { STAGE: stage, CONSOLE_FILES: path, SIGN_IN_DOMAIN: domain, CONSOLE_FOLDER: folder } = env;
  const { SIGN_IN_CLIENT: clientId, CALLER_URL: callerUrl, RUNBOOK_URL: runbookUrl } = env;
  if (path === undefined || domain === undefined || clientId === undefined) return undefined;
  let files: ConsoleFiles | undefined;
  const readFiles = (): ConsoleFiles => {
    files ??= JSON.parse(readFileSync(path, 'utf8')) as ConsoleFiles;
    return files;
  };
  const settings = {
    ...{ stage, signIn: { domain, clientId } },
    ...(callerUrl && { callerUrl }),
    ...(runbookUrl && { runbookUrl }),
  };
  return { readFiles, settings, ...(folder && { folder }) };
};
