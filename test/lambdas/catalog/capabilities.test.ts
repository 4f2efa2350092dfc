import { expect, test } from 'vitest';
import { assertWithin } from '../../../lambdas/catalog/capabilities.ts';
import { modelOn, targetAt } from '../../support/models.ts';
import { requestOf } from '../../support/translate.ts';

const model = modelOn([targetAt('http://127.0.0.1:1', { protocol: 'messages' })]);

const IMAGES = {
  'in base64': { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' },
  'by address': { type: 'url', url: 'https://example.com/a.png' },
  'that the vendor keeps as a file': { type: 'file', file_id: 'file_1' },
};

test.each(Object.entries(IMAGES))('a model without eyes is shown no image %s', (_, source) => {
  const content = [{ type: 'image', source }];
  const request = requestOf('messages', { messages: [{ role: 'user', content }] });
  expect(() => assertWithin(model, request, 1)).toThrow('does not accept images');
  expect(() => assertWithin({ ...model, vision: true }, request, 1)).not.toThrow();
});
