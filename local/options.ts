import { parseArgs } from 'node:util';
import { UsageError } from './usage-error.ts';

export const USAGE = `Usage: npm start -- [options]

  --port N         port on the loopback address (default: PORT, or 8787; 0: any free one)
  --catalog FILE   your models and upstreams
  --secrets FILE   JSON object: credentials by the names that the catalog uses
  --delay MS       delay of the embedded upstream before every word (default: 15)
  --json           print one line {"baseUrl","key"} when ready, and nothing else
  --help           print this help`;

export type CliOptions = {
  port: number;
  delayMs: number;
  json: boolean;
  help: boolean;
  /** Paths of the user's catalog and of the credentials that it names. */
  ownFiles: { catalog: string; secrets?: string | undefined } | undefined;
};

const DEFAULT_PORT = '8787';
/** Slow enough to see the words stream in. */
const DEFAULT_DELAY_MS = '15';

const MAX_PORT = 65_535;
const MAX_DELAY_MS = 10_000;

const readNumber = (text: string, name: string, max: number): number => {
  if (/^\d+$/.test(text) && Number(text) <= max) return Number(text);
  throw new UsageError(`Invalid ${name} '${text}': must be a whole number from 0 to ${max}.`);
};

const parse = (args: string[]) => {
  try {
    return parseArgs({
      args,
      options: {
        port: { type: 'string' },
        catalog: { type: 'string' },
        secrets: { type: 'string' },
        delay: { type: 'string', default: DEFAULT_DELAY_MS },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (cause) {
    throw new UsageError(`${cause instanceof Error ? cause.message : cause}\n\n${USAGE}`, {
      cause,
    });
  }
};

const readOwnFiles = ({ catalog, secrets }: { catalog?: string; secrets?: string }) => {
  if (catalog !== undefined) return { catalog, secrets };
  if (secrets === undefined) return undefined;
  throw new UsageError('--secrets requires --catalog.');
};

/** @throws UsageError for an unknown option, a value out of range, or secrets without a catalog */
export const readOptions = (args: string[], env: { PORT?: string | undefined }): CliOptions => {
  const { port, delay, json, help, ...files } = parse(args);
  return {
    port:
      port === undefined
        ? readNumber(env.PORT || DEFAULT_PORT, 'PORT', MAX_PORT)
        : readNumber(port, '--port', MAX_PORT),
    delayMs: readNumber(delay, '--delay', MAX_DELAY_MS),
    json,
    help,
    ownFiles: readOwnFiles(files),
  };
};
