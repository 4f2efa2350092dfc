import { describe, expect, test } from 'vitest';
import { faultOfModel, parseFault } from '../../../local/embedded-upstream/faults.ts';

describe('the spelling of faults', () => {
  test.each([
    ['status=503', { kind: 'status', status: 503 }],
    ['status=429:7', { kind: 'status', status: 429, retryAfter: '7' }],
    ['slow=200', { kind: 'slow', ms: 200 }],
    ['reset', { kind: 'reset' }],
    ['reset=3', { kind: 'reset', after: 3 }],
    ['stall=0', { kind: 'stall', after: 0 }],
    ['truncate', { kind: 'truncate' }],
    ['body=html', { kind: 'body', as: 'html' }],
    ['bytes=garbage', { kind: 'bytes', as: 'garbage' }],
    ['stream=crlf', { kind: 'stream', as: 'crlf' }],
    ['status=429:soon', { kind: 'status', status: 429, retryAfter: 'soon' }],
  ])('%s is understood', (text, fault) => {
    expect(parseFault(text)).toEqual(fault);
  });

  test.each([
    '',
    'status',
    'slow',
    'nonsense',
    'reset=',
    'reset=x',
    'status=503 ',
    'body=x',
    'stream',
    'html',
    'reset=1=2',
  ])("'%s' is not a fault", (text) => {
    expect(parseFault(text)).toBeUndefined();
  });

  test('a model name contains its fault after an exclamation mark', () => {
    expect(faultOfModel('scribe-1!reset=2')).toEqual({ kind: 'reset', after: 2 });
    expect(faultOfModel('scribe-1')).toBeUndefined();
  });
});
