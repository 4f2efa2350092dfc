import type { ALERT_EVENTS, LogFields } from '../log-events.ts';

/** A message to people. Names, ids and numbers: no text of a caller or a provider. */
export type Alert = {
  /** The same in each repetition, so that a receiver can leave one out. */
  id: string;
  /** What it is about: of one that fires, no second one is sent before it is resolved. */
  subject: string;
  state: 'firing' | 'resolved' | 'notice';
  at: number;
  title: string;
  text: string;
  runbook?: string;
};

type Line = LogFields & { event?: unknown };
/** When a line was written, a name that no other line has, and the page of the runbooks. */
type Context = { at: number; id: string; runbookUrl: string };
type Content = Pick<Alert, 'subject' | 'state' | 'title' | 'text'> & { anchor?: string };

/** A breaker of one process has a `fault`; that of the target is shared, and opens again without closing. */
const ofOpening = ({ target = '', fault, openings }: Line): Content | undefined => {
  if (fault === 'credential') {
    return {
      ...{ subject: `credential/${target.split('/')[0]}`, state: 'firing' },
      title: `The credential of ${target} was refused`,
      text: 'Its provider rejects the credential. Requests go to other targets, or fail.',
      anchor: 'upstream-credential-refused',
    };
  }
  if (fault !== undefined && fault !== 'connection') return undefined;
  if (openings !== 1) return undefined;
  return {
    ...{ subject: `target/${target}`, state: 'firing' },
    title: `Target ${target} is down`,
    text: 'Its calls failed and it is held off. Requests go to other targets of the model, or fail.',
    anchor: 'failovers',
  };
};

const ofClosing = ({ target = '' }: Line): Content => ({
  ...{ subject: `target/${target}`, state: 'resolved' },
  title: `Target ${target} is back`,
  text: 'It answers again, and gets requests.',
});

const ofThreshold = ({ meterId = '', projectId, keyId, period, threshold }: Line): Content => {
  const budget = meterId.startsWith('budget/') ? meterId.slice('budget/'.length) : undefined;
  const [what, whose] = budget === undefined ? ['quota', `key ${keyId}`] : ['budget', budget];
  return {
    ...{ subject: `threshold/${meterId}/${period}/${threshold}`, state: 'notice' },
    title: `${threshold} % of the ${what} of ${whose} are used`,
    text: `Project ${projectId}, key ${keyId}, period ${period}.`,
  };
};

const ofChange = ({ action, keyId, projectId, leaked }: Line): Content | undefined => {
  if (action !== 'keys.revoke') return undefined;
  const notice = { subject: `key/${keyId}`, state: 'notice' } as const;
  const text = `A key of project ${projectId}. The audit has who did it.`;
  if (!leaked) return { ...notice, title: `Key ${keyId} was revoked`, text };
  return {
    ...notice,
    title: `Key ${keyId} leaked, and was revoked`,
    text: `${text} Its requests show what it was used for: requests list --key ${keyId}.`,
  };
};

/** Once for a key: what was not found after the first message is not found by a second. */
const ofRevokedUse = ({ keyId, projectId }: Line): Content => ({
  ...{ subject: `used/${keyId}`, state: 'notice' },
  title: `Key ${keyId} is used, though it was revoked`,
  text: `A request had this key of project ${projectId} and got 401. A program has the key still, or a stranger.`,
});

const CONTENTS: Record<(typeof ALERT_EVENTS)[number], (line: Line) => Content | undefined> = {
  breaker_opened: ofOpening,
  breaker_closed: ofClosing,
  usage_threshold: ofThreshold,
  admin_change: ofChange,
  revoked_key_used: ofRevokedUse,
};

const contentOf = (line: Line): Content | undefined =>
  Object.entries(CONTENTS).find(([event]) => event === line.event)?.[1](line);

/** What a line of the log says to people; undefined for most. */
export const alertOfLine = (line: Line, { at, id, runbookUrl }: Context): Alert | undefined => {
  const { anchor, ...content } = contentOf(line) ?? { anchor: undefined };
  if (!('subject' in content)) return undefined;
  return { id, at, ...content, ...(anchor && { runbook: `${runbookUrl}#${anchor}` }) };
};

const DAY_MS = 86_400_000;
const NOTICE_DAYS = 30;

/** Models whose providers retire them within 30 days; until the day itself, as the alarm on AWS. */
export const retirementAlerts = (
  models: readonly { id: string; retires?: string | undefined }[],
  { at, runbookUrl }: Pick<Context, 'at' | 'runbookUrl'>,
): Alert[] =>
  models.flatMap(({ id, retires }) => {
    const left = Date.parse(retires ?? '') - at;
    if (!(left > 0 && left <= NOTICE_DAYS * DAY_MS)) return [];
    const subject = `retirement/${id}/${retires}`;
    return {
      ...{ id: `${subject}/${at}`, subject, state: 'notice' as const, at },
      title: `Model ${id} retires on ${retires}`,
      text: 'Its provider ends it. Give it a successor in the catalog.',
      runbook: `${runbookUrl}#model-retiring`,
    };
  });
