import { byteMutation, mutateBytes } from '../../fuzz/mutate-bytes.ts';
import { fc } from '../../support/seeds.ts';

const oneOf = fc.constantFrom;

/** A text in Latin-1, whose characters are bytes. */
const textOf = (from: number, to: number, maxLength: number) =>
  fc
    .array(fc.integer({ min: from, max: to }), { maxLength })
    .map((codes) => String.fromCharCode(...codes));

const bodyText = fc.oneof(
  textOf(0, 255, 60),
  oneOf('', 'hello', '\r\n', '0\r\n\r\n', 'HTTP/1.1 200 OK\r\n\r\n', '{"a":1}\n', 'x'.repeat(900)),
);

/** The same letters, each in upper or lower case. */
const anyCase = (text: fc.Arbitrary<string>) =>
  fc
    .tuple(text, fc.array(fc.boolean(), { minLength: 1, maxLength: 8 }))
    .map(([of, isUpper]) =>
      [...of].map((c, i) => (isUpper[i % isUpper.length] ? c.toUpperCase() : c)).join(''),
    );

const spaces = oneOf('', ' ', ' ', ' ', '\t', ' \t ');
const headerLine = (
  names: fc.Arbitrary<string>,
  values: fc.Arbitrary<string>,
  behind: fc.Arbitrary<string> = spaces,
) =>
  fc
    .tuple(anyCase(names), spaces, values, behind)
    .map(([name, before, value, after]) => `${name}:${before}${value}${after}`);

const plainHeader = headerLine(
  oneOf('x', 'x', 'date', 'set-cookie', 'keep-alive', "!#$%&'*+-.^_`|~", '__proto__', '9'),
  oneOf('', 'a', 'a b\tc', 'timeout=5', 'é, \xa0', 'a: b; c="d"', ',', 'x'.repeat(300)),
);
const connectionHeader = headerLine(
  oneOf('connection'),
  anyCase(oneOf('close', 'keep-alive', 'keep-alive, close', 'close,te', 'te', '')),
);

// --- chunks ---

const sizeLine = (size: number) =>
  fc
    .tuple(
      anyCase(oneOf(size.toString(16))),
      fc.nat(5),
      oneOf('', '', '', ';a', ';a=b', ';a="b\\" ;c"', ';a;b=1;c="\t"'),
    )
    .map(([hex, zeros, extensions]) => `${'0'.repeat(zeros)}${hex}${extensions}\r\n`);

const chunk = bodyText
  .filter((text) => text.length > 0)
  .chain((text) => sizeLine(text.length).map((line) => `${line}${text}\r\n`));

const trailers = fc
  .array(plainHeader, { maxLength: 2 })
  .map((lines) => lines.map((line) => `${line}\r\n`).join(''));

const chunkedBody = fc
  .tuple(fc.array(chunk, { maxLength: 4 }), sizeLine(0), trailers)
  .map(([chunks, last, lines]) => `${chunks.join('')}${last}${lines}\r\n`);

// --- responses ---

type Framed = { lines: string[]; body: string };

const framed: fc.Arbitrary<Framed> = fc.oneof(
  bodyText.chain((body) =>
    headerLine(oneOf('content-length'), oneOf(`${body.length}`, `00${body.length}`)).map(
      (line) => ({ lines: [line], body }),
    ),
  ),
  fc
    .tuple(
      headerLine(
        oneOf('transfer-encoding'),
        anyCase(oneOf('chunked', 'chunked', 'chunked, chunked')),
        oneOf('', ' '),
      ),
      chunkedBody,
    )
    .map(([line, body]) => ({ lines: [line], body })),
  bodyText.map((body) => ({ lines: [], body })),
);

const interim = oneOf(
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\nlink: </b>\r\n\r\n',
  'HTTP/1.1 199\r\ncontent-length: 5\r\n\r\n',
);
const version = oneOf('1.1', '1.1', '1.1', '1.0');
const status = oneOf('200', '200', '200', '201', '204', '205', '304', '404', '429', '529', '999');
const reason = oneOf(' OK', ' ', '', ' Not é\t', ' 100');

const response = fc
  .record({
    before: fc.array(interim, { maxLength: 2 }),
    version,
    status,
    reason,
    headers: fc.array(plainHeader, { maxLength: 4 }),
    connection: fc.array(connectionHeader, { maxLength: 2 }),
    framed,
  })
  .map(({ before, headers, connection, framed: { lines, body }, ...first }) => {
    const statusLine = `HTTP/${first.version} ${first.status}${first.reason}`;
    const head = [statusLine, ...headers.slice(1), ...lines, ...connection, ...headers.slice(0, 1)];
    return `${before.join('')}${head.join('\r\n')}\r\n\r\n${body}`;
  });

/** The bytes of valid responses, at times with others behind them. */
export const responseBytes: fc.Arbitrary<Uint8Array> = fc
  .tuple(response, oneOf('', '', '', '\r\n', 'HTTP/1.1 200 OK\r\n\r\n'))
  .map((texts) => Buffer.from(texts.join(''), 'latin1'));

/** The same with some bytes changed, in heads below the limit of their length. */
export const mutatedBytes: fc.Arbitrary<Uint8Array> = fc
  .tuple(responseBytes, fc.array(byteMutation, { minLength: 1, maxLength: 3 }))
  .map(([bytes, mutations]) => mutateBytes(bytes, mutations, 4_000));
