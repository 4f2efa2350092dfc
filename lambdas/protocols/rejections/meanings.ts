import type { ProviderText } from './provider-text.ts';
import type { Overflow } from './upstream-error.ts';

/** Failures that a 4xx alone does not show, and that each have their own way to be fixed. */
export type LastingKind = 'credential-refused' | 'no-quota' | 'unknown-model';

// --- the provider's words ---

/** The opening quote of anything but a name, e.g. `'temperature'`; not an apostrophe or a closing quote. */
const QUOTED_ECHO = /(?<![\w\]])['"`](?![\w.[\]/-]{1,64}['"`])/;
/** The words before an echo that is not quoted, e.g. `Invalid value for logit_bias: …`. */
const BEFORE_ECHO =
  /\b(?:invalid|unknown|unsupported|unrecognized|unexpected) (?:value|parameter|argument|type|field|key)\b[^:]{0,80}:/i;

/**
 * The part of a message that the provider wrote: the text before the first value that it echoes. A prompt
 * about context lengths must not turn another error into an overflow, on which agents discard history.
 */
const ownWords = (message: string): string => {
  const ends = [QUOTED_ECHO, BEFORE_ECHO].flatMap((echo) => echo.exec(message)?.index ?? []);
  return message.slice(0, Math.min(message.length, ...ends));
};

// --- context overflow ---

/** Codes of upstreams for a prompt that is too long. */
const OVERFLOW_CODE =
  /^(?:context_length_exceeded|exceed_context_size_error|invalid_request_prompt_too_long|model_max_prompt_tokens_exceeded|tokens_limit_reached)$/;

/**
 * Texts of upstreams for a prompt that is too long. Their wording differs, their status is 400 or
 * 413. The meaning must reach the caller: agents compact their history on it.
 */
const OVERFLOW_TEXTS = [
  /context_length_exceeded/i,
  /maximum context length/i,
  /prompt is too long/i,
  /context (?:window|length|limit)/i,
  /exceeds? the (?:model'?s )?(?:maximum )?(?:number of )?(?:input )?tokens/i,
  /too many (?:input )?tokens/i,
  /input is too long/i,
  /context size/i,
  /maximum prompt length/i,
  /exceeded model token limit/i,
  /range of input length/i,
  /prompt exceeds max length/i,
  /`inputs` (?:tokens|must have less than)/i,
  /(?:prompt|input) (?:token count|tokens|length)\b.{0,20}\bexceeds? (?:the )?(?:limit|max|configured limit)/i,
  /number of tokens in the prompt\b.{0,20}\bexceeds/i,
  /longer than the maximum model length/i,
  /exceed max message tokens/i,
  /reduce the length of the (?:messages|prompt|input)/i,
];

/** The two numbers in those texts, in either order. Every repetition is bounded: linear on any text. */
const OVERFLOW_NUMBERS = [
  /\b(?<tokens>\d{1,12}) tokens > (?<limit>\d{1,12}) maximum/,
  /maximum context length is (?<limit>\d{1,12}) tokens.{0,80}?(?:resulted in|requested) (?<tokens>\d{1,12}) tokens/s,
  /token count of (?<tokens>\d{1,12}) exceeds the limit of (?<limit>\d{1,12})/,
  /token count \((?<tokens>\d{1,12})\) exceeds [^(]{0,80}\((?<limit>\d{1,12})\)/,
  /maximum prompt length is (?<limit>\d{1,12}) but the request contains (?<tokens>\d{1,12})/,
  /token limit: (?<limit>\d{1,12}) \(requested: (?<tokens>\d{1,12})\)/,
  /contains (?<tokens>\d{1,12}) tokens.{0,80}?model with (?<limit>\d{1,12}) maximum/s,
];

/** The two numbers; undefined if the upstream does not give both, or they show no overflow. */
const readOverflow = (message: string): Overflow | undefined => {
  for (const pattern of OVERFLOW_NUMBERS) {
    const { tokens, limit } = pattern.exec(message)?.groups ?? {};
    const overflow = { tokens: Number(tokens), most: Number(limit) };
    if (overflow.tokens > overflow.most) return overflow;
  }
  return undefined;
};

/** The overflow that the texts report, with its numbers if both are there; undefined if they report none. */
export const overflowIn = ({ messages, codes }: ProviderText) => {
  const own = messages.map(ownWords);
  const isOverflow =
    codes.some((code) => OVERFLOW_CODE.test(code)) ||
    own.some((message) => OVERFLOW_TEXTS.some((pattern) => pattern.test(message)));
  if (!isOverflow) return undefined;
  const [overflow] = own.flatMap((message) => readOverflow(message) ?? []);
  return { overflow };
};

// --- failures that last until the operator acts ---

/** The evidence of a kind: codes, which contain no echo, and how a message begins or what it contains. */
type Evidence = { kind: LastingKind; codes: RegExp; messages: RegExp[] };

/** Patterns are anchored at the start of a message where they can be: an echo is in its middle. */
const EVIDENCE: Evidence[] = [
  {
    kind: 'no-quota',
    codes:
      /^(?:insufficient_(?:quota|user_quota|balance|credits)|billing_(?:hard_limit_reached|not_active|disabled)|exceeded_current_quota_error|payment_required(?:_error)?|credit_limit|credit_balance_exhausted|arrearage|(?:enforced_)?spend_limit_reached|(?:organization|project)_(?:spend|usage)_limit_exceeded)$/i,
    messages: [
      /^your credit balance is too low/i,
      /^you have reached your specified (?:workspace )?api usage limits/i,
      /^insufficient (?:balance|credits|quota)/i,
      /^credit limit exceeded/i,
      /^payment required/i,
      /^this request requires more credits/i,
      /^your prepayment credits are depleted/i,
      /^you have run out of credits/i,
      /^your (?:newly created )?team\b.{0,80} (?:used all available credits|doesn't have any credits)/i,
      /^account \S{1,80} is suspended\b.{0,40}spending limit/i,
      /invalid_payment_instrument/i,
      /^this api method requires billing to be enabled/i,
      /^api access blocked: .{0,40}spend/i,
    ],
  },
  {
    kind: 'credential-refused',
    codes:
      /^(?:invalid_api_key|wrong_api_key|api_key_(?:invalid|expired|service_blocked)|access_token_(?:expired|type_unsupported)|account_deactivated|organization_restricted)$/i,
    messages: [
      /^api key (?:not valid|not found|expired)/i,
      /^(?:incorrect|invalid) api key/i,
      /^your api key was reported as leaked/i,
      /^authentication failed\b/i,
      /^the security token included in the request is (?:invalid|expired)/i,
      /^the request signature we calculated does not match/i,
      /^signature (?:expired|not yet current)\b/i,
      /^credential should be scoped to/i,
      /^the api key you provided is invalid/i,
    ],
  },
  {
    kind: 'unknown-model',
    codes:
      /^(?:model_not_found|model_decommissioned|model_not_available|model_not_supported|invalid_model|deploymentnotfound|operationnotsupported|unknown_model|unknown_url)$/i,
    messages: [
      /^the (?:requested )?model ['"`]?[^\s'"`]{1,160}['"`]? (?:does not exist|does not support the ['"`]?\/|was not found|is not found|has been (?:decommissioned|retired))/i,
      /^(?:the )?model ['"`]?[^\s'"`]{1,160}['"`]? not found/i,
      /^not found the model\b/i,
      /^model(?: id)?:? [^\s]{1,160}$/i,
      /^model (?:not found|not exist)/i,
      /^(?:invalid|unknown) model\b/i,
      /^models\/[^\s]{1,160} is not found/i,
      /^unable to access model\b/i,
      /^[^\s]{1,160} is not a valid model id/i,
      /^no endpoints found for [^\s]{1,160}$/i,
      /^publisher model\b/i,
      /^the provided model identifier is invalid/i,
      /^this model version has reached the end of its life/i,
      /^invocation of model id [^\s]{1,160} with on-demand throughput/i,
      /^the model isn['\u2019]t supported on this route/i,
      /^the api deployment for this resource does not exist/i,
      /^this is not a chat model/i,
      /^(?:resource )?not found\.?$/i,
      /^invalid url\b/i,
      /^404 page not found/i,
    ],
  },
];

/** The kind of failure that the texts are evidence of; undefined if they are of none. */
export const lastingKindIn = ({ messages, codes }: ProviderText): LastingKind | undefined =>
  EVIDENCE.find(
    ({ codes: code, messages: patterns }) =>
      codes.some((text) => code.test(text)) ||
      messages.some((text) => patterns.some((pattern) => pattern.test(text))),
  )?.kind;

// --- the caller's input ---

/** Codes for what a request contains: a prompt that a policy flags, an image that cannot be read. */
const INPUT_CODE =
  /^(?:content_filter|content_policy_violation|responsibleaipolicyviolation|invalid_prompt|data_inspection_failed|invalid_image\w{0,40}|image_parse_error|unsupported_image)$/i;

/** Texts of the same, for providers without such a code. */
const INPUT_TEXTS = [
  /^(?:failed|unable) to (?:download|process|decode|read|parse) (?:the )?(?:\w{1,20} )?(?:image|file|document|audio)/i,
  /^could not process image/i,
  /^(?:no such file|file not found)\b/i,
  /your input was flagged/i,
  /^no endpoints found that (?:support|can handle)\b/i,
];

/** `Request too large for gpt-5 on tokens per min (TPM): Limit 30000, Requested 90412.` Linear on any text. */
const LIMIT_AND_REQUESTED =
  /\blimit:? (?<limit>[\d,]{1,15})\b.{0,80}?\brequested:? (?<requested>[\d,]{1,15})\b/i;

const amount = (digits = ''): number => Number(digits.replaceAll(',', ''));

/** Whether the request alone exceeds a rate limit of the provider: no wait helps, and no other request is concerned. */
export const exceedsLimitAlone = ({ messages }: ProviderText): boolean =>
  messages.map(ownWords).some((message) => {
    const { limit, requested } = LIMIT_AND_REQUESTED.exec(message)?.groups ?? {};
    return limit !== undefined && amount(requested) > amount(limit);
  });

/** Whether the texts are about what the request contains, without naming a field. */
export const isAboutInput = ({ messages, codes }: ProviderText): boolean =>
  codes.some((code) => INPUT_CODE.test(code)) ||
  messages.some((text) => INPUT_TEXTS.some((pattern) => pattern.test(text)));
