/** Texts that have broken parsers, terminals and databases before. */
export const NAUGHTY: string[] = [
  ...['undefined', 'null', 'NaN', '-1', '1e400', '0x0', '1/0', 'true', '\\', '/', "'", '"', '`'],
  ...[
    '<script>alert(1)</script>',
    "'; DROP TABLE keys; --",
    '$' + '{jndi:ldap://x/a}',
    '{{7*7}}',
    '%s%n',
  ],
  ...['../../../../etc/passwd', 'file:///etc/passwd', 'http://169.254.169.254/', '$(id)', '`id`'],
  ...['\r\nx-evil: 1', 'data: [DONE]\n\n', '\n\nevent: error\ndata: {}\n\n', ': comment\n'],
  ...['\u001b[31mred\u001b[0m', '\u0007', '\u0000', '\u0085', '\u2028\u2029', '\ufeff', '\u200b'],
  ...['Ω≈ç√∫˜µ≤≥÷', '田中さんにあげて下さい', 'هُنَاكَ', 'בְּרֵאשִׁית', '𝕋𝕙𝕖', '👩‍👩‍👧‍👦', '🇺🇸', 'Z̮̞̠͙͔ͅḀ̗̞͈̻̗Ḷ͙͎̯̹̞͓G̻O̭̗̮'],
  ...[
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'then',
    'length',
    '[object Object]',
  ],
  ...['call f {"a":', 'say', 'think', 'fault', '[INST]', '<|im_end|>', '</s>', '\n\nHuman:'],
  ...[
    'a'.repeat(100_000),
    ' '.repeat(10_000),
    '('.repeat(50_000),
    '\\'.repeat(9_999),
    '"'.repeat(999),
  ],
];

const NUMBERS = [
  '-',
  '-.1',
  '.1',
  '1.',
  '01',
  '1e',
  '1e+',
  '0x1',
  '+1',
  '--1',
  '1 2',
  '１',
  'Infinity',
];
const STRINGS = [
  ...['"', '"\\', '"\\u', '"\\u00', '"\\u00G0"', '"\\x00"', '"\\a"', '"\t"', '"\n"', '"\u0000"'],
  ...["'a'", '"a', 'a"', '"a"b"', '""""', '"\\uD800\\"', '“a”'],
];
const STRUCTURES = [
  ...['[', ']', '{', '}', '[1,]', '[,1]', '[1,,2]', '[1 2]', '[1:2]', '{"a"}', '{"a":}', '{:1}'],
  ...['{"a":1,}', '{"a":1 "b":2}', '{a:1}', '{1:1}', '{"a":1}}', '{"a":1}]', '[[]', '{}#', '{}{}'],
  ...['[1]x', '/*x*/{}', '{}//x', '<null>', 'nul', 'TRUE', 'undefined', '\u00a0{}', '\u2060{}'],
];

/** Texts that are no JSON: none may be taken for it. */
export const NO_JSON: string[] = [
  ...STRUCTURES.map((text) => (text.startsWith('{') ? text : `{"x":${text}`)),
  ...[...NUMBERS, ...STRINGS].flatMap((text) => [`{"x":${text}}`, `{"x":[${text}]}`]),
];

/** Values that are JSON, if unusual: a field nobody knows may hold any of them. */
export const ODD_JSON: string[] = [
  ...['0', '-0', '1E+2', '1e-400', '123456789012345678901234567890', '0.1e1', 'null', 'true'],
  ...['""', '" "', '"\\u0000"', '"\\ud83d\\ude00"', '"\\/"', '"\\u2028"', '"\u007f"', '"😀"'],
  ...['[]', '[[]]', '{}', '{"":0}', '{"a":{"a":{}}}', '{"a":1,"a":2}', ' [ 1 , 2 ] ', '\n\t{}\r'],
];
