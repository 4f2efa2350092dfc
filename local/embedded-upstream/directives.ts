/** Instructions in a prompt to the embedded model; most prompts have none. */
export type Directives = {
  calls: { name: string; arguments: string }[];
  /** Thinking to send first. */
  think: string | undefined;
  /** Tokens of the prompt that the usage states as read from a cache. */
  cached: number;
  /** The exact text of the response. */
  say: string | undefined;
  /** A fault as `parseFault` (faults.ts) reads it. */
  fault: string | undefined;
};

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/** Source text of the JSON object that starts at `from`; undefined if it is incomplete. */
const objectAt = (text: string, from: number): string | undefined => {
  for (let end = text.indexOf('}', from); end !== -1; end = text.indexOf('}', end + 1)) {
    const candidate = text.slice(from, end + 1);
    if (isJson(candidate)) return candidate;
  }
  return undefined;
};

const readCalls = (text: string): Directives['calls'] =>
  [...text.matchAll(/\bcall\s+([\w.-]+)\s*(?=\{)/g)].flatMap((match) => {
    const source = objectAt(text, match.index + match[0].length);
    return source === undefined ? [] : [{ name: match[1] ?? '', arguments: source }];
  });

/** `say` consumes the rest of the prompt, so text after it is never read as a directive. */
const splitSay = (prompt: string): { head: string; say: string | undefined } => {
  const match = /^say (?<text>[\s\S]*)/m.exec(prompt);
  return { head: prompt.slice(0, match?.index), say: match?.groups?.text };
};

/** `think`, `cached`, `say` and `fault` must start a line; `call NAME {json}` may occur anywhere before `say`. */
export const readDirectives = (prompt: string): Directives => {
  const { head, say } = splitSay(prompt);
  return {
    calls: readCalls(head),
    think: /^think (.+)$/m.exec(head)?.[1],
    cached: Number(/^cached (\d+)$/m.exec(head)?.[1] ?? 0),
    say,
    fault: /^fault (\S+)$/m.exec(head)?.[1],
  };
};
