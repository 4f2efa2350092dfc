import { ConfigurationError } from '../configuration-error.ts';

const VERSION = /^(\d+)\.(\d+)\.(\d+)$/;

const numbersIn = (version: string): number[] => VERSION.exec(version)?.slice(1).map(Number) ?? [];

const isLater = (one: number[], other: number[]): boolean => {
  const at = one.findIndex((number, index) => number !== other[index]);
  return at >= 0 && (one[at] ?? 0) > (other[at] ?? 0);
};

/** @throws ConfigurationError unless it is a version after the current one */
export const nextVersion = (given: string | undefined, current: string): string => {
  if (given && VERSION.test(given) && isLater(numbersIn(given), numbersIn(current))) return given;
  throw new ConfigurationError(
    `Name a version after ${current}, e.g. npm run release -- 1.2.3 (got '${given ?? ''}').`,
  );
};

const UNRELEASED = '## [Unreleased]\n';

/** The changelog with its unreleased entries under a version. @throws ConfigurationError if there are none */
export const releasedChangelog = (text: string, version: string, day: string): string => {
  const [before = '', rest] = text.split(UNRELEASED);
  const entries = rest?.split(/^## \[/m)[0]?.trim();
  if (rest === undefined || !entries) {
    throw new ConfigurationError('The changelog has no unreleased entry.');
  }
  return `${before}${UNRELEASED}\n## [${version}] - ${day}\n${rest}`;
};
