/** One HTTP answer as it stood on the wire. */
export type Answer = { status: number; headers: Record<string, string>; body: Buffer };

/** What a connection said. `isCut`: it was closed in the middle of an answer. */
export type Said = { answers: Answer[]; isCut: boolean };

const HEAD_END = '\r\n\r\n';
const STATUS_LINE = /^HTTP\/1\.1 (?<status>[1-5]\d\d) [ -~]+$/;
const HEADER = /^(?<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+): (?<value>[\t -~\u0080-\u00ff]*)$/;
const CHUNK_SIZE = /^[0-9a-f]+$/i;

type Rest = { body: Buffer; end: number } | undefined;

const readHead = (text: string): Omit<Answer, 'body'> => {
  const [line = '', ...lines] = text.split('\r\n');
  const status = STATUS_LINE.exec(line)?.groups?.status;
  if (status === undefined)
    throw new Error(`no status line: ${JSON.stringify(line.slice(0, 200))}`);
  const headers = lines.map((header): [string, string] => {
    const { name, value } = HEADER.exec(header)?.groups ?? {};
    if (name === undefined || value === undefined) throw new Error(`no header: ${header}`);
    return [name.toLowerCase(), value];
  });
  return { status: Number(status), headers: Object.fromEntries(headers) };
};

/** The body in chunks from `at`; undefined when it is not complete. */
const readChunks = (bytes: Buffer, at: number): Rest => {
  const parts: Buffer[] = [];
  let from = at;
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', from);
    if (lineEnd === -1) return undefined;
    const sizeText = bytes.toString('latin1', from, lineEnd);
    if (!CHUNK_SIZE.test(sizeText)) throw new Error(`no chunk size: ${JSON.stringify(sizeText)}`);
    const size = Number.parseInt(sizeText, 16);
    const end = lineEnd + 2 + size;
    if (bytes.length < end + 2) return undefined;
    if (bytes.toString('latin1', end, end + 2) !== '\r\n') throw new Error('a chunk has no end');
    parts.push(bytes.subarray(lineEnd + 2, end));
    from = end + 2;
    if (size === 0) return { body: Buffer.concat(parts), end: from };
  }
};

const hasNoBody = (status: number) => status < 200 || status === 204 || status === 304;

const readBody = (bytes: Buffer, at: number, { status, headers }: Omit<Answer, 'body'>): Rest => {
  if (hasNoBody(status)) return { body: Buffer.alloc(0), end: at };
  if (headers['transfer-encoding'] === 'chunked') return readChunks(bytes, at);
  const length = headers['content-length'];
  const end = length === undefined ? bytes.length : at + Number(length);
  return end <= bytes.length ? { body: bytes.subarray(at, end), end } : undefined;
};

/** The answers in what a server wrote. Answers to HEAD are not told apart. @throws Error when it is no HTTP. */
export const readHttp = (bytes: Buffer): Said => {
  const answers: Answer[] = [];
  let at = 0;
  while (at < bytes.length) {
    const headEnd = bytes.indexOf(HEAD_END, at);
    if (headEnd === -1) return { answers, isCut: true };
    const head = readHead(bytes.toString('latin1', at, headEnd));
    const rest = readBody(bytes, headEnd + HEAD_END.length, head);
    if (!rest) return { answers: [...answers, { ...head, body: Buffer.alloc(0) }], isCut: true };
    answers.push({ ...head, body: rest.body });
    at = rest.end;
  }
  return { answers, isCut: false };
};
