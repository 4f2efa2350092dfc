import { omitUndefined } from '../../support/objects.ts';
import { asString, type Json } from '../bytes/json.ts';
import type { Tool } from '../generation.ts';

/**
 * Tools that the caller's machine runs and whose schema the vendor's models know by a dated type. Their calls and results are
 * those of any tool, so that a model of another vendor needs no more than a function.
 */
type Known = { name: string; description(tool: Json): string; members: Json; required: string[] };

const TEXT = { type: 'string' };
const COUNT = { type: 'integer' };
const oneOf = (...values: string[]): Json => ({ ...TEXT, enum: values });
const PAIR = { type: 'array', items: COUNT, minItems: 2, maxItems: 2 };

/** Of commands that change a text file. */
const EDITING = {
  path: { ...TEXT, description: 'Absolute path of a file or folder.' },
  view_range: { ...PAIR, description: 'Of view: first and last line, from 1; -1 is the end.' },
  file_text: { ...TEXT, description: 'Of create: the whole text.' },
  old_str: { ...TEXT, description: 'Of str_replace: a text that the file holds exactly once.' },
  new_str: { ...TEXT, description: 'Of str_replace: what replaces it.' },
  insert_line: {
    ...COUNT,
    description: 'Of insert: the line behind which to insert; 0: the start.',
  },
  insert_text: { ...TEXT, description: 'Of insert: the text.' },
};

const BASH: Known = {
  name: 'bash',
  description: () =>
    'Runs a command in a bash session that stays open between calls, on the machine of the user.',
  members: {
    command: TEXT,
    restart: { type: 'boolean', description: 'Starts the session again, without a command.' },
  },
  required: [],
};

const TEXT_EDITOR: Known = {
  name: 'str_replace_based_edit_tool',
  description: () => 'Views, creates and changes text files on the machine of the user.',
  members: { command: oneOf('view', 'create', 'str_replace', 'insert'), ...EDITING },
  required: ['command', 'path'],
};

/** The generations before the command was removed; the text to insert was `new_str`. */
const OLDER_EDITOR: Known = {
  ...TEXT_EDITOR,
  name: 'str_replace_editor',
  members: {
    ...EDITING,
    command: oneOf('view', 'create', 'str_replace', 'insert', 'undo_edit'),
    new_str: { ...TEXT, description: 'Of str_replace and insert: the new text.' },
    insert_text: undefined,
  },
};

const MEMORY: Known = {
  name: 'memory',
  description: () =>
    'Keeps notes in files below /memories that outlive the conversation. View the folder before a task, and note what later conversations need.',
  members: {
    command: oneOf('view', 'create', 'str_replace', 'insert', 'delete', 'rename'),
    ...EDITING,
    old_path: { ...TEXT, description: 'Of rename.' },
    new_path: { ...TEXT, description: 'Of rename.' },
  },
  required: ['command'],
};

const ACTIONS = [
  ...['screenshot', 'cursor_position', 'mouse_move', 'left_click', 'right_click', 'middle_click'],
  ...['double_click', 'triple_click', 'left_click_drag', 'left_mouse_down', 'left_mouse_up'],
  ...['scroll', 'key', 'hold_key', 'type', 'wait', 'zoom'],
];

const COMPUTER: Known = {
  name: 'computer',
  description: ({ display_width_px: width, display_height_px: height }) =>
    `Acts on a screen of ${width} x ${height} pixels by mouse and keyboard, and shows it. Take a screenshot before and after an action.`,
  members: {
    action: oneOf(...ACTIONS),
    coordinate: { ...PAIR, description: 'Pixels from the left and from the top.' },
    start_coordinate: { ...PAIR, description: 'Of left_click_drag.' },
    text: { ...TEXT, description: 'Of type: the text. Of key and hold_key: keys such as ctrl+s.' },
    scroll_direction: oneOf('up', 'down', 'left', 'right'),
    scroll_amount: { ...COUNT, description: 'Clicks of the wheel.' },
    duration: { type: 'number', description: 'Seconds, of hold_key and wait.' },
    region: {
      type: 'array',
      items: COUNT,
      ...{ minItems: 4, maxItems: 4, description: 'Of zoom: left, top, right and bottom.' },
    },
  },
  required: ['action'],
};

const KNOWN: [type: RegExp, known: Known][] = [
  [/^bash_\d{8}$/, BASH],
  [/^text_editor_202(?:4\d{4}|50124)$/, OLDER_EDITOR],
  [/^text_editor_\d{8}$/, TEXT_EDITOR],
  [/^memory_\d{8}$/, MEMORY],
  [/^computer_\d{8}$/, COMPUTER],
];

/** The function for such a tool, which keeps the tool for targets of the protocol; undefined for every other one. */
export const clientTool = (value: Json): Tool | undefined => {
  const type = asString(value.type) ?? '';
  const known = KNOWN.find(([pattern]) => pattern.test(type))?.[1];
  if (!known) return undefined;
  const { name, description, members, required } = known;
  return {
    name: asString(value.name) ?? name,
    description: description(value),
    parameters: { type: 'object', properties: omitUndefined(members), required },
    extras: { protocol: 'messages', fields: { clientTool: value } },
  };
};
