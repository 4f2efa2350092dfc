/** The console as console/bundle.ts builds it. */
export type ConsoleFiles = {
  /** HTML with `{{settings}}` in an attribute, and `{{folder}}` in the addresses of script and style. */
  page: string;
  /** Scripts and styles by their names, which contain a hash of their text, and the document of the API. `brotli` is in base64. */
  assets: Record<string, { type: string; text: string; brotli?: string }>;
};

/** What the page needs to know before its first call; public, except for the local token. */
export type ConsoleSettings = {
  stage: string;
  /** Base address for callers. @default the address that serves the page */
  callerUrl?: string;
  /** The page with the runbooks, to which an anchor is appended. */
  runbookUrl?: string;
  /** Authorizes the page's calls on the loopback address, in the header `x-console-token`. */
  token?: string;
  /** Managed login of the user pool; absent on the loopback address, which needs none. */
  signIn?: { domain: string; clientId: string };
};

export type ConsoleParts = {
  readFiles: () => ConsoleFiles;
  settings: ConsoleSettings;
  /** Folder of script and style in the page's addresses. @default `dashboard` */
  folder?: string;
};

export const CONSOLE_PATH = '/dashboard';
/** The admin routes are here a second time, for the page's calls. */
export const CONSOLE_API = `${CONSOLE_PATH}/api`;

/** The files a second time, at a path that the REST API streams. */
export const STREAMED_FILES = `${CONSOLE_PATH}/files/`;

/** The document of the public and the admin API; at the root, and one of the console's files. */
export const CONTRACT_PATH = '/openapi.json';

export const isConsoleFile = (path: string): boolean =>
  path === CONTRACT_PATH ||
  path === CONSOLE_PATH ||
  (path.startsWith(`${CONSOLE_PATH}/`) && !path.startsWith(`${CONSOLE_API}/`));
