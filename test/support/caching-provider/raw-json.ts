/**
 * JSON as a provider's tokenizer sees it: the order of members and the spelling of numbers count, white space and the
 * spelling of a string do not.
 */
export type Raw =
  | { kind: 'object'; members: [name: string, value: Raw][] }
  | { kind: 'list'; items: Raw[] }
  | { kind: 'text'; text: string }
  /** A number, `true`, `false` or `null`, as it is written. */
  | { kind: 'word'; text: string };

const TOKEN = /\s*([[\]{}:,]|"(?:[^"\\]|\\.)*"|[-+.\w]+)/sy;

/** @throws SyntaxError */
export const parseRaw = (text: string): Raw => {
  // Also the check of the grammar: what follows reads valid JSON only.
  JSON.parse(text);
  let at = 0;
  const take = (): string => {
    TOKEN.lastIndex = at;
    const [, token = ''] = TOKEN.exec(text) ?? [];
    at = TOKEN.lastIndex;
    return token;
  };
  const list = (): Raw => {
    const items: Raw[] = [];
    for (let token = take(); token !== ']'; token = take()) {
      if (token !== ',') items.push(value(token));
    }
    return { kind: 'list', items };
  };
  const object = (): Raw => {
    const members: [string, Raw][] = [];
    for (let token = take(); token !== '}'; token = take()) {
      if (token === ',') continue;
      take();
      members.push([JSON.parse(token), value(take())]);
    }
    return { kind: 'object', members };
  };
  const value = (token: string): Raw => {
    if (token === '{') return object();
    if (token === '[') return list();
    return token.startsWith('"')
      ? { kind: 'text', text: JSON.parse(token) }
      : { kind: 'word', text: token };
  };
  return value(take());
};

/** One text for each meaning; members named `without` are left out at every level. */
export const writeRaw = (raw: Raw, without?: string): string => {
  switch (raw.kind) {
    case 'text':
      return JSON.stringify(raw.text);
    case 'word':
      return raw.text;
    case 'list':
      return `[${raw.items.map((item) => writeRaw(item, without)).join(',')}]`;
    case 'object': {
      const kept = raw.members.filter(([name]) => name !== without);
      return `{${kept.map(([name, value]) => `${JSON.stringify(name)}:${writeRaw(value, without)}`).join(',')}}`;
    }
  }
};

export const memberOf = (raw: Raw | undefined, name: string): Raw | undefined =>
  raw?.kind === 'object' ? raw.members.findLast(([own]) => own === name)?.[1] : undefined;

export const itemsOf = (raw: Raw | undefined): Raw[] => (raw?.kind === 'list' ? raw.items : []);

/** A string, or a number and the like as it is written. */
export const textOf = (raw: Raw | undefined): string | undefined =>
  raw?.kind === 'text' || raw?.kind === 'word' ? raw.text : undefined;
