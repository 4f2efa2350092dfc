import type { HeaderMap } from '../protocols/protocol.ts';

/** What a catalog states of the end of a model; none of it for most. */
export type Dated = {
  id: string;
  deprecated?: string | undefined;
  retires?: string | undefined;
  successor?: string | undefined;
  afterwards?: 'successor' | undefined;
};

/** Retired from the first instant of its day, in UTC. */
export const isRetired = ({ retires }: Dated, now: number): boolean =>
  retires !== undefined && Date.parse(retires) <= now;

/** The sentence for a caller about a model that is not served any more. */
export const retiredText = ({ id, retires, successor }: Dated): string => {
  const next = successor === undefined ? '' : ` Use '${successor}' instead.`;
  return `The model '${id}' was retired on ${retires}.${next}`;
};

/**
 * `Deprecation` is a date of structured fields (RFC 9745), `Sunset` an HTTP date (RFC 8594) that must not be earlier. A
 * model that answers for a retired one is named.
 */
export const retirementHeaders = (asked: Dated, answering: Dated = asked): HeaderMap => {
  const { retires, deprecated = retires } = asked;
  if (retires === undefined || deprecated === undefined) return {};
  return {
    deprecation: `@${Date.parse(deprecated) / 1_000}`,
    sunset: new Date(retires).toUTCString(),
    ...(asked !== answering && { 'x-router-model': answering.id }),
  };
};

/** In the words of the vendors' model lists: OpenAI's `shutdown_date`, and the others of Anthropic. */
export const publicRetirement = ({ retires, deprecated }: Dated) =>
  retires !== undefined && {
    shutdown_date: retires,
    lifecycle: 'deprecated',
    deprecated_at: deprecated === undefined ? null : new Date(deprecated).toISOString(),
    retires_at: new Date(retires).toISOString(),
  };

type Issue = [index: number, member: keyof Dated, message: string];

const UNDATED = 'needs `retires`';
const LATE = 'must not be after `retires`';
const NOBODY = 'needs a `successor` of the catalog, which answers then';
/** Without this rule a chain of successors may have no end. */
const ENDS_EARLIER = 'must name a model that is retired later, or not at all';

/**
 * What is wrong with the dates and successors of a catalog. A successor that it does not have and that answers nothing is a
 * finding of the doctor.
 */
export const retirementIssues = (models: Dated[]): Issue[] =>
  models.flatMap((model, index) => {
    const { id, retires, deprecated = '', successor, afterwards } = model;
    const next = successor === undefined ? undefined : models.find((one) => one.id === successor);
    const endsBy = successor === id ? retires : next?.retires;
    const members = ['deprecated', 'successor', 'afterwards'] as const;
    const rules: [isBroken: boolean, member: keyof Dated, message: string][] = retires
      ? [
          [deprecated > retires, 'deprecated', LATE],
          [afterwards !== undefined && !next, 'afterwards', NOBODY],
          [endsBy !== undefined && endsBy <= retires, 'successor', ENDS_EARLIER],
        ]
      : members.map((member) => [model[member] !== undefined, member, UNDATED]);
    return rules.flatMap(([isBroken, member, message]): Issue[] =>
      isBroken ? [[index, member, message]] : [],
    );
  });
