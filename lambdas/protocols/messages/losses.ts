import { insideEach, isBlankText } from '../bytes/edits.ts';
import { asArray, asRecord, asString, type Json } from '../bytes/json.ts';
import { type Edit, remove, set } from '../bytes/splice.ts';
import type { GenerationRequest } from '../generation.ts';
import { reminderOf } from '../instructions.ts';
import { extraFieldsFor } from '../ledger/extras.ts';
import { plain } from '../ledger/paths.ts';

/** A system turn in the middle becomes one of the user, for a target that accepts a system prompt only before the conversation. */
export const reminderEdits = (message: Json): Edit[] => {
  if (message.role !== 'system') return [];
  const { role: _, content, ...options } = message;
  const unset = Object.keys(options).flatMap((name) =>
    options[name] === null ? [] : [remove([name])],
  );
  const asUser = [...unset, set(['role'], 'user')];
  const text = asString(content);
  if (text !== undefined) return [...asUser, set(['content'], reminderOf(text))];
  const texts = insideEach(message, 'content', (part) => {
    const own = asString(part.text);
    return own === undefined || isBlankText(own) ? [] : [set(['text'], reminderOf(own))];
  });
  return [...asUser, ...texts];
};

/** The paths of what system turns set, for such a target. */
export const lostSettings = ({ turns, extras }: GenerationRequest): string[] =>
  extras.protocol === 'messages'
    ? turns.flatMap((turn) =>
        turn.role === 'system'
          ? Object.keys(extraFieldsFor('messages', turn.extras)).map(
              (name) => `messages[system].${plain(name)}`,
            )
          : [],
      )
    : [];

/** The paths of a conversation's edits, for a target without their beta; which of the earlier thinking is sent is decided here. */
export const lostEdits = (management: unknown): string[] =>
  asArray(asRecord(management)?.edits).flatMap((edit) => {
    const type = asString(asRecord(edit)?.type) ?? '';
    return type.startsWith('clear_thinking') ? [] : [`context_management.edits[${plain(type)}]`];
  });
