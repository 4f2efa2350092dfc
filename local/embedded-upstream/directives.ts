/** What a prompt tells the embedded model to do; a prompt without any is a plain question. */
export type Directives = {
  calls: { name: string; arguments: string }[];
  /** Thinking to show first. */
  think: string | undefined;
  /** The exact answer. */
  say: string | undefined;
  /** A fault, in the words of faults.ts. */
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

/** The JSON object that starts at `from`, as written; undefined when none is complete there. */
const objectAt = (text: string, from: number): string | undefined => {
  for (let end = text.indexOf('}', from); end !== -1; end = text.indexOf('}', end + 1)) {
    const candidate = text.slice(from, end + 1);
    if (isJson(candidate)) return candidate;
  }
  return undefined;
};

const readCalls = (text: string): Directives['calls'] =>
  [...text.matchAll(/\bcall\s+([\w.-]+)\s*(?=\{)/g)].flatMap((match) => {
    const found = objectAt(text, match.index + match[0].length);
    return found === undefined ? [] : [{ name: match[1] ?? '', arguments: found }];
  });

/** `say` takes the rest of the prompt; what it quotes is never a directive. */
const splitSay = (prompt: string): { head: string; say: string | undefined } => {
  const match = /^say (?<text>[\s\S]*)/m.exec(prompt);
  return { head: prompt.slice(0, match?.index), say: match?.groups?.text };
};

/** `think`, `say` and `fault` stand at the start of a line; `call NAME {json}` anywhere before `say`. */
export const readDirectives = (prompt: string): Directives => {
  const { head, say } = splitSay(prompt);
  return {
    calls: readCalls(head),
    think: /^think (.+)$/m.exec(head)?.[1],
    say,
    fault: /^fault (\S+)$/m.exec(head)?.[1],
  };
};
