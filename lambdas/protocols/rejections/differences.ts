import {
  ADAPTIVE_EFFORTS,
  COMMON_FORMS,
  type Profile,
  SAMPLING_FIELDS,
  type ThinkingForm,
} from '../profile.ts';
import type { ModelDifference } from './model-difference.ts';

export const isOfModel = ({ member }: ModelDifference): boolean =>
  !['history', 'toolChoice', 'marks', 'cap'].includes(member);

/** The forms of `thinking` in which a model thinks, the newer first. */
const THINKING_ON: readonly ThinkingForm[] = ['adaptive', 'enabled'];
const thinks = (form: ThinkingForm): boolean => THINKING_ON.includes(form);

/**
 * The forms that are left. If the model cannot think by any of them, those that the profile lacks replace them: the
 * provider may have changed its model. Both rejected by one request: it does not think.
 */
const formsWithout = (forms: readonly ThinkingForm[], rejected: ThinkingForm[]) => {
  const isLeft = (form: ThinkingForm) => !rejected.includes(form);
  const left = forms.filter(isLeft);
  if (left.some(thinks) || !rejected.some(thinks)) return left;
  return [...THINKING_ON.filter(isLeft), ...left];
};

/** Models without the adaptive form accept no effort, but for one, and a budget asks that one for the same. */
const withoutForms = (profile: Profile, rejected: ThinkingForm[], recommended: ThinkingForm[]) => {
  if (rejected.length === 0) return profile;
  const { thinking: known = COMMON_FORMS, effort } = profile;
  const thinking = [...new Set([...formsWithout(known, rejected), ...recommended])];
  if (rejected.includes('adaptive')) return { ...profile, thinking, effort: [] };
  const isNewer = thinking.includes('adaptive') && !known.includes('adaptive');
  return { ...profile, thinking, ...(isNewer && !effort?.length && { effort: ADAPTIVE_EFFORTS }) };
};

const withDifference = (profile: Profile, difference: ModelDifference): Profile => {
  switch (difference.member) {
    case 'effort': {
      const isEarly = difference.only.length === 0 && profile.thinking === undefined;
      const early = isEarly ? { thinking: ['enabled', 'disabled'] as const } : {};
      return { ...profile, ...early, effort: difference.only };
    }
    case 'sampling': {
      const { sampling = SAMPLING_FIELDS } = profile;
      const { without } = difference;
      return { ...profile, sampling: sampling.filter((field) => !without.includes(field)) };
    }
    case 'betas':
    case 'versions':
    case 'cache':
    case 'hints':
    case 'schema':
    case 'marks': {
      const of = difference.member === 'marks' ? 'cache' : difference.member;
      const name = `${of}Without` as const;
      const all = new Set([...(profile[name] ?? []), ...difference.without]);
      return { ...profile, [name]: [...all] };
    }
    case 'toolChoice':
      return { ...profile, forcedTool: false };
    case 'thinking':
    case 'history':
    case 'cap':
      return profile;
    default:
      return { ...profile, [difference.member]: difference.is };
  }
};

/** Those without which a model takes or does less: they are left out after the others. */
const NEEDED = /^(?:context-1m|context-management|computer-use|interleaved-thinking)-/;

/** What the rejection of a request that thinks, or does not, and that asks for these betas, shows of the model. */
export const narrowed = (
  difference: ModelDifference,
  { isThinking, betas }: { isThinking: boolean; betas: string[] },
): ModelDifference => {
  if (difference.member === 'sampling' && difference.whenThinking && isThinking) {
    return { member: 'samplingWithEffort', is: false };
  }
  if (difference.member !== 'betas' || difference.without.length > 0) return difference;
  const others = betas.filter((beta) => !NEEDED.test(beta));
  return { member: 'betas', without: others.length > 0 ? others : betas };
};

/**
 * The profile with the differences that the rejections of one request named. An absent list starts with all
 * that the protocols have.
 */
export const withDifferences = (profile: Profile, differences: ModelDifference[]): Profile => {
  const thinking = differences.filter((one) => one.member === 'thinking');
  const recommended = thinking.flatMap(({ use }) => use);
  // Behind one address there may be several versions, of which one rejects what another recommends.
  const rejected = thinking
    .flatMap(({ without }) => without)
    .filter((form) => !recommended.includes(form));
  return differences.reduce(withDifference, withoutForms(profile, rejected, recommended));
};
