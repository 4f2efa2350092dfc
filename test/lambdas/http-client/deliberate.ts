/** Responses that Node reads and the reader rejects: how they are recognized, and why. */
export const DELIBERATE: { what: string; pattern: RegExp; why: string; example: string }[] = [
  {
    what: 'empty lines before a status line',
    pattern: /(?:^|\r\n\r\n)[\r\n]+HTTP/,
    why: 'What is between two responses belongs to none: a connection that sends it has lost count.',
    example: '\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n',
  },
  {
    what: 'a version that is neither 1.0 nor 1.1',
    pattern: /HTTP\/(?:0\.9|2\.0)/,
    why: 'Nothing asked for it.',
    example: 'HTTP/2.0 200 OK\r\ncontent-length: 0\r\n\r\n',
  },
  {
    what: 'a status below 100',
    pattern: /HTTP\/1\.[01] 0/,
    why: 'RFC 9110, section 15: it is invalid, and no rule states how its body ends.',
    example: 'HTTP/1.1 099 X\r\ncontent-length: 0\r\n\r\n',
  },
  {
    what: 'another protocol',
    pattern: /HTTP\/1\.[01] 101/,
    why: 'Nothing asked for it, so the bytes behind it have no meaning.',
    example: 'HTTP/1.1 101 Switching Protocols\r\n\r\n',
  },
  {
    what: 'an encoding other than chunked',
    pattern: /transfer-encoding:(?![\t ]*chunked(?:[\t ]*,[\t ]*chunked)*[\t ]*\r\n)/i,
    why: 'The request accepts none (`te`), and readers that skip it see another end of the body.',
    example: 'HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
  },
  {
    what: 'a content-length of more than 15 digits',
    pattern: /content-length:[\t ]*\d{16}/i,
    why: 'Its number may not be exact.',
    example: 'HTTP/1.1 200 OK\r\ncontent-length: 0000000000000005\r\n\r\nhello',
  },
  {
    what: "a chunk's extension without a name, or with an empty value",
    pattern: /\r\n[\da-f]+;(?:[^\r\n]*[;=])?(?:[;=]|\r\n)/i,
    why: 'RFC 9112, section 7.1.1 has none.',
    example: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0;a=\r\n\r\n',
  },
  {
    what: 'a trailer that states the framing of the response',
    pattern: /\r\n(?:transfer-encoding|connection):/i,
    why: 'RFC 9110, section 6.5.1: it comes too late, and readers that heed it see another end.',
    example: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\nconnection: close\r\n\r\n',
  },
  {
    what: 'a head of more than 16 KB whose names and values have less',
    pattern: /^[\s\S]{16385}/,
    why: 'The bytes of the lines count too. Node counts those of names and values alone.',
    example: `HTTP/1.1 200 OK\r\n${'x:\r\n'.repeat(4_200)}content-length: 0\r\n\r\n`,
  },
];

/**
 * A tab behind `chunked`, which RFC 9110, section 5.5 permits: Node does not see that word then, and reads to the end
 * of the connection.
 */
export const NODE_FAULT = /transfer-encoding:[\t ]*chunked *\t[\t ]*\r\n/i;
