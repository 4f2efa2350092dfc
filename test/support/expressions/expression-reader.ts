import { DynamoError, type Item } from '../../../lambdas/stores/dynamo/dynamo-client.ts';

/** What placeholders of an expression stand for. */
export type Scope = { item: Item; names: Record<string, string>; values: Item };
export type Operand = (scope: Scope) => unknown;

/** As DynamoDB refuses an expression. */
export const invalid = (reason: string): DynamoError =>
  new DynamoError('ValidationException', {
    ...{ status: 400, item: undefined },
    cause: new Error(reason),
  });

const TOKEN = /\s*(<=|>=|<>|[(),+=<>-]|[#:]?\w+)\s*/y;

const tokenize = (text: string): string[] => {
  const tokens: string[] = [];
  TOKEN.lastIndex = text.length - text.trimStart().length;
  while (TOKEN.lastIndex < text.length) {
    const token = TOKEN.exec(text)?.[1];
    if (token === undefined) throw invalid(`Not understood: ${text}`);
    tokens.push(token);
  }
  return tokens;
};

export type Reader = {
  /** The next token, without taking it. */
  peek(): string | undefined;
  take(): string;
  /** Takes the token if it is the next one. */
  skip(token: string): boolean;
};

export const createReader = (text: string): Reader => {
  const tokens = tokenize(text);
  let at = 0;
  const take = (): string => {
    const token = tokens[at];
    if (token === undefined) throw invalid(`Ends too early: ${text}`);
    at += 1;
    return token;
  };
  return {
    peek: () => tokens[at],
    take,
    skip: (token) => {
      if (tokens[at] !== token) return false;
      at += 1;
      return true;
    },
  };
};

export const expectToken = (reader: Reader, token: string): void => {
  if (!reader.skip(token)) throw invalid(`Expected ${token}, got ${reader.peek()}`);
};

export const nameIn = (token: string): ((scope: Scope) => string) => {
  if (!token.startsWith('#')) throw invalid(`Not a name: ${token}`);
  return ({ names }) => {
    const name = names[token];
    if (name === undefined) throw invalid(`No such name: ${token}`);
    return name;
  };
};

export const operand = (reader: Reader): Operand => {
  const token = reader.take();
  if (token.startsWith('#')) {
    const nameOf = nameIn(token);
    return (scope) => scope.item[nameOf(scope)];
  }
  if (!token.startsWith(':')) throw invalid(`Not an operand: ${token}`);
  return ({ values }) => {
    const value = values[token];
    if (value === undefined) throw invalid(`No such value: ${token}`);
    return value;
  };
};

/** Operands in parentheses. */
export const list = (reader: Reader): Operand[] => {
  expectToken(reader, '(');
  const operands = [operand(reader)];
  while (reader.skip(',')) operands.push(operand(reader));
  expectToken(reader, ')');
  return operands;
};
