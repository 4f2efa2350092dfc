import { beforeEcho, foldText, piecesOf } from './echo.ts';

/** What a reason must not contain, in addition to what looks like a secret. */
export type Confidential = {
  /** The body that was sent: its texts are the caller's. */
  request: unknown;
  /** Of the target; no part of one may be in the reason either. */
  credentials: readonly string[];
  /** Names of the target. */
  hosts: readonly string[];
};

/** Characters of a clean reason. */
const MAX_REASON = 200;
/** Read of the provider's words: redaction makes them shorter. */
const MAX_WORDS = 600;

const REMOVED = '[removed]';

/** The opening quote of a sentence, i.e. of an echoed value and not of a name. */
const QUOTED_SENTENCE = /(?<![\w\])])['"`](?=[^'"`]{20})[\w.,!?-]{0,40}\s/;

/** Control and format characters, e.g. overrides of the writing direction and characters without width. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]/gu;

// --- words that identify someone or grant something ---

const URL_WORD = /^(?:[a-z][a-z\d+.-]{0,20}:)?\/\/|^www\.|^data:/i;
const HOST =
  /^(?:[\w-]+\.)+(?:ai|app|cn|cloud|co|com|dev|example|eu|internal|invalid|io|local|net|org|test|us)(?::\d+)?(?:\/.*)?$/i;
const HOST_AND_PORT = /^[a-z][\w.-]*:\d{2,5}(?:\/.*)?$/i;
const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}(?:[:/].*)?$/;
const IPV6 = /^(?:[\da-f]{0,4}:){2,7}[\da-f]{0,4}$/i;
const EMAIL = /^[^@]+@[^@.]+\./;
const RESOURCE =
  /^arn:|(?:^|\/)(?:accounts|organi[sz]ations|projects|subscriptions|tenants|resourcegroups)\/./i;
const LABELLED = /^(?:account|consumer|org|organi[sz]ation|project|team|tenant|user)\w*[:#]./i;
/** Prefixes of credentials, e.g. `sk-proj-…`. */
const KEY =
  /^(?:abia|absk|aiza|akia|asia|bearer|csk|eyj|fw|gsk|hf|mrk|nvapi|pk|rk|sk|tgp|xai|ya29)[-_.]./i;
const UNDIVIDED_KEY = /^(?:AKIA|ASIA|ABSK|AIza|eyJ)\w{8}/;
const MASKED = /\*{2}|\u2022{2}|\.{4}/;
/** Ids such as `req_011CS` and `org-9f2`, but not `file-like`. */
const ID =
  /^(?:acct|asst|call|chatcmpl|cmpl|file|gen|msg|org|proj|req|request|resp|run|sess|thread|trace|user|ws)[-_](?=\D{0,40}\d)/i;
const UUID = /^[\da-f]{8}-[\da-f]{4}-/i;
const LONG_NUMBER = /^\d{10,}$/;
/** A part of a word that no name of a model has: 16 letters and digits. */
const isToken = (part: string): boolean =>
  part.length >= 16 && /\d/.test(part) && /[a-z]/i.test(part);

const CONFIDENTIAL = [
  ...[URL_WORD, HOST, HOST_AND_PORT, IPV4, IPV6, EMAIL, RESOURCE, LABELLED],
  ...[KEY, UNDIVIDED_KEY, MASKED, ID, UUID, LONG_NUMBER],
];

const isConfidential = (word: string): boolean =>
  CONFIDENTIAL.some((pattern) => pattern.test(word)) || word.split(/[-_./:+]/).some(isToken);

/** `key=value` is judged by its value too. */
const hasConfidential = (word: string): boolean =>
  isConfidential(word) || (word.includes('=') && word.split('=').some(isConfidential));

// --- names that follow a label ---

const LABEL =
  /^(?:account|consumer|organi[sz]ation|org|project|subscription|team|tenant|workspace)$/i;
const BETWEEN = /^(?:id|ids|name|named|number|with)$/i;
/** What follows a label in a sentence that names no one, e.g. `your project does not have access`. */
const SENTENCE =
  /^(?:a|access|after|and|are|associated|at|balance|before|billing|can|cannot|did|do|does|doesn|for|from|had|has|have|hasn|in|is|isn|key|keys|level|limit|limits|may|must|needs|not|of|on|or|owner|permission|policy|quota|requires|s|settings|should|that|the|they|tier|to|under|was|when|which|will|without)$/i;

/** A word without the punctuation around it. */
const bare = (word: string): string => word.replace(/^[.:!?]{1,3}/, '').replace(/[.:!?]{1,3}$/, '');

/** Words, without quotes, brackets and white space. */
const WORD = /[^\s'"`\u2018\u2019\u201c\u201d(),;<>[\]{}|]+/gu;

const redact = (text: string): string => {
  let follows = false;
  return text.replace(WORD, (whole) => {
    const word = bare(whole);
    const isNamed = follows && !SENTENCE.test(word) && !BETWEEN.test(word);
    follows = LABEL.test(word) || (follows && BETWEEN.test(word));
    if (!isNamed && !hasConfidential(word)) return whole;
    return whole.replace(word, REMOVED);
  });
};

/** A part of a credential that is as long is removed; providers show the last four characters. */
const MIN_PART = 6;

/** The places of a text that are in a part of the credential, as it is written or by its letters and digits. */
const placesIn = (text: string, credential: string): Set<number> => {
  const written = { letters: text, at: [...Array(text.length).keys()] };
  const pairs = [
    [written, credential],
    [foldText(text), foldText(credential).letters],
  ] as const;
  const places = new Set<number>();
  for (const [{ letters, at }, secret] of pairs) {
    const size = Math.min(MIN_PART, secret.length);
    if (size === 0) continue;
    const parts = piecesOf(secret, size);
    for (let start = 0; start + size <= letters.length; start += 1) {
      if (!parts.has(letters.slice(start, start + size))) continue;
      const [first = 0, last = 0] = [at[start], at[start + size - 1]];
      for (let place = first; place <= last; place += 1) places.add(place);
    }
  }
  return places;
};

/** Without any part of the credential, in any spelling. */
const withoutParts = (text: string, credential: string): string => {
  const places = placesIn(text, credential);
  const units = Array.from({ length: text.length }, (_, index) => {
    if (!places.has(index)) return text.charAt(index);
    return places.has(index - 1) ? '' : REMOVED;
  });
  return units.join('');
};

const without = (text: string, { credentials, hosts }: Confidential): string => {
  const named = hosts.filter((host) => host !== '');
  const rest = named.reduce((left, host) => left.replaceAll(host, REMOVED), text);
  return credentials.reduce(withoutParts, rest);
};

const cap = (text: string): string =>
  text.length <= MAX_REASON ? text : `${text.slice(0, MAX_REASON - 1).trimEnd()}…`;

/**
 * Returns a provider's words as records and callers may see them: up to the first echo of the request,
 * without credentials, addresses, ids of accounts and control characters, at most 200 characters; undefined if
 * no letter is left.
 */
export const cleanReason = (words: string, confidential: Confidential): string | undefined => {
  const text = words.slice(0, MAX_WORDS);
  const quotation = QUOTED_SENTENCE.exec(text)?.index ?? text.length;
  const own = beforeEcho(text.slice(0, quotation), confidential.request);
  const printable = own.replace(UNPRINTABLE, ' ');
  const reason = redact(without(printable, confidential)).replace(/\s+/g, ' ').trim();
  return /\p{L}/u.test(reason.replaceAll(REMOVED, '')) ? cap(reason) : undefined;
};
