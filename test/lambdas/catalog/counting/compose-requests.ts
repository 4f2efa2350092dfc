/**
 * Whole requests as coding agents send them: a long system prompt, 0 to 25 tools, and loops of calls with files and
 * listings as results. They are composed of texts that ship in npm packages, the same in every run.
 */

export type Schema = {
  type: string;
  description?: string;
  enum?: string[];
  items?: Schema;
};
export type ToolSource = {
  name: string;
  description: string;
  properties: Record<string, Schema>;
  required: string[];
};
export type Sources = { prompts: string[]; tools: ToolSource[]; files: string[] };

type Draw = (below: number) => number;

/** A generator of numbers that is the same in every run and language (Park and Miller). */
export const drawFrom = (seed: number): Draw => {
  let state = seed;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
};

const sliceOf = (texts: string[], length: number, draw: Draw): string => {
  const text = texts[draw(texts.length)] ?? '';
  const from = draw(Math.max(1, text.length - length));
  return text.slice(from, from + length);
};

const toolOf = ({ name, description, properties, required }: ToolSource, extra: string) => ({
  type: 'function',
  function: {
    name,
    description: `${description}\n${extra}`.trim(),
    parameters: { type: 'object', properties, required, additionalProperties: false },
  },
});

const PATHS = ['src/app', 'lib/core', 'packages/web/src', 'test', 'internal/store'];
const NAMES = ['index', 'parse', 'router', 'user-store', 'config', 'render'];

/** Arguments as agents call tools: a path and numbers, an edit, a command. */
const argumentsOf = ({ files }: Sources, draw: Draw): Record<string, unknown> => {
  const path = `/workspace/${PATHS[draw(PATHS.length)]}/${NAMES[draw(NAMES.length)]}.ts`;
  switch (draw(4)) {
    case 0:
      return { path, offset: draw(400), limit: 20 + draw(180) };
    case 1:
      return { path, old_text: sliceOf(files, 120, draw), new_text: sliceOf(files, 200, draw) };
    case 2:
      return {
        command: `npx vitest run ${path} --reporter=dot`,
        description: 'Runs one test file',
      };
    default:
      return { path };
  }
};

const resultOf = ({ files, prompts }: Sources, draw: Draw): string => {
  const text = sliceOf(draw(5) === 0 ? prompts : files, 200 + draw(2_800), draw);
  if (draw(3) > 0) return text;
  // As agents show files: with the numbers of lines.
  return text
    .split('\n')
    .map((line, index) => `${String(index + 1).padStart(6)}\t${line}`)
    .join('\n');
};

const loopOf = (sources: Sources, index: number, tool: string, draw: Draw) => {
  const calls = Array.from({ length: draw(4) === 0 ? 2 : 1 }, (_, call) => ({
    id: `call_${index}_${call}`,
    type: 'function',
    function: { name: tool, arguments: argumentsOf(sources, draw) },
  }));
  const said = draw(2) === 0 ? '' : sliceOf(sources.prompts, 60 + draw(200), draw);
  return [
    { role: 'assistant', content: said, tool_calls: calls },
    ...calls.map(({ id }) => ({
      role: 'tool',
      tool_call_id: id,
      content: resultOf(sources, draw),
    })),
  ];
};

const TOOLS = [1, 5, 11, 25];
const LOOPS = [0, 2, 6, 15, 30];

/** A request in the form of chat, but with the arguments of its calls as objects. */
export const composeRequest = (sources: Sources, seed: number) => {
  const draw = drawFrom(seed + 1);
  for (let turn = 0; turn < 8; turn += 1) draw(2);
  const tools = Array.from({ length: TOOLS[draw(TOOLS.length)] ?? 1 }, (_, index) => {
    const source = sources.tools[(seed * 31 + index * 7 + draw(5)) % sources.tools.length];
    if (!source) throw new Error('at least one tool');
    const extra = draw(3) === 0 ? sliceOf(sources.prompts, 200 + draw(900), draw) : '';
    return toolOf({ ...source, name: `${source.name}_${index}` }, extra);
  });
  const loops = Array.from({ length: LOOPS[draw(LOOPS.length)] ?? 0 }, (_, index) =>
    loopOf(sources, index, tools[draw(tools.length)]?.function.name ?? '', draw),
  );
  return {
    messages: [
      { role: 'system', content: sliceOf(sources.prompts, 1_500 + draw(10_000), draw) },
      { role: 'user', content: sliceOf(sources.prompts, 80 + draw(400), draw) },
      ...loops.flat(),
    ],
    tools,
  };
};
