import { describe, expect, test } from 'vitest';
import { assertCapable, targetsFor } from '../../../lambdas/catalog/capabilities.ts';
import { modelOn, targetAt } from '../../support/models.ts';
import { thirdProtocol } from '../../support/third-protocol.ts';
import { requestOf } from '../../support/translate.ts';

const model = modelOn([targetAt('http://127.0.0.1:1', { protocol: 'messages' })]);

const IMAGES = {
  'as base64': { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' },
  'by URL': { type: 'url', url: 'https://example.com/a.png' },
  'by file id': { type: 'file', file_id: 'file_1' },
};

test.each(Object.entries(IMAGES))('a model without vision rejects an image %s', (_, source) => {
  const content = [{ type: 'image', source }];
  const request = requestOf('messages', { messages: [{ role: 'user', content }] });
  expect(() => assertCapable(model, request)).toThrow('does not accept images');
  expect(() => assertCapable({ ...model, vision: true }, request)).not.toThrow();
});

describe('the targets of a request', () => {
  const [chat, messages] = [targetAt('http://a'), targetAt('http://b', { protocol: 'messages' })];
  const document = { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } };
  const userTurn = { role: 'user', content: [document] };
  const withStops = (...stop: string[]) =>
    requestOf('messages', { messages: [userTurn], stop_sequences: stop });

  test('targets whose protocol can carry every part are used', () => {
    expect(targetsFor({ id: 'a/b', targets: [chat, messages] }, withStops('x'))).toEqual([
      messages,
    ]);
  });

  test('a target of a third protocol carries a part that chat and messages cannot', () => {
    const request = withStops('1', '2', '3', '4', ' ');
    const protocols = { chat: thirdProtocol, messages: thirdProtocol };
    expect(targetsFor({ id: 'a/b', targets: [chat] }, request, protocols)).toEqual([chat]);
    const tools = [{ name: 'f', input_schema: { type: 'object' } }];
    expect(() =>
      targetsFor({ id: 'a/b', targets: [chat] }, requestOf('messages', { tools }), protocols),
    ).toThrow("The model 'a/b' does not support 'tools'.");
  });

  test('a part that no target can carry is a 400 that names it alone', () => {
    const request = withStops(' ');
    expect(() => targetsFor({ id: 'a/b', targets: [chat] }, request)).toThrow(
      "The model 'a/b' does not support 'document by URL'.",
    );
  });

  test('parts that need different targets are a 400 that names all of them', () => {
    const request = withStops(' ');
    expect(() => targetsFor({ id: 'a/b', targets: [chat, messages] }, request)).toThrow(
      "The model 'a/b' does not support 'document by URL', 'stop sequence of white space'.",
    );
  });
});
