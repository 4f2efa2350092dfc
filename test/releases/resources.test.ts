import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import before from '../fixtures/releases/0.1.0/resources.json' with { type: 'json' };
import latest from '../fixtures/releases/0.2.0/resources.json' with { type: 'json' };
import { synthTemplate } from '../lib/synth.ts';
import { PREVIOUS } from './previous.ts';

type Resources = Record<string, { Type: string; DeletionPolicy?: string }>;

/** Logical ids and types of what a prod stage keeps when its template has it no more. */
const keptIn = (options: Record<string, string> = {}): Record<string, string> => {
  const resources: Resources = synthTemplate({ stage: 'prod', ...options }).toJSON().Resources;
  return Object.fromEntries(
    Object.entries(resources).flatMap(([id, { Type, DeletionPolicy = 'Delete' }]) =>
      DeletionPolicy === 'Delete' ? [] : [[id, Type]],
    ),
  );
};

/** The option that takes over a resource which the release before does not have, and so takes out of the stack. */
const OPTIONS: Record<string, { option: string; value: string }> = {
  TablesRecords353FBC94: { option: 'recordsTable', value: 'records' },
  TablesHistory40CCE7D9: { option: 'historyTable', value: 'history' },
  ConsoleUsersE8A0E376: { option: 'userPool', value: 'eu-west-1_a1B2c3D4e' },
};
/** Parts of a pool, which is taken over with them, responses that live a day, and logs, whose next group has another name. */
const NOT_TAKEN_OVER = ['AWS::Cognito::UserPoolGroup', 'AWS::S3::Bucket', 'AWS::Logs::LogGroup'];

test('each resource with data of an earlier release is in the template under the same id, and kept', () => {
  expect(keptIn()).toMatchObject({ ...before, ...latest });
});

test(`each resource with data that ${PREVIOUS} does not have is taken over by an option, which the page of the rollback names`, () => {
  const manual = readFileSync(new URL('../../docs/deploy.md', import.meta.url), 'utf8');
  const rollback = manual.split('\n## Rollback\n')[1]?.split('\n## ')[0] ?? '';
  const [steps = ''] = rollback.split('git checkout');
  const added = Object.entries(keptIn()).filter(
    ([id, type]) => !(id in before) && !NOT_TAKEN_OVER.includes(type),
  );
  expect(added.map(([id]) => id).toSorted()).toEqual(Object.keys(OPTIONS).toSorted());
  for (const [id, { option, value }] of Object.entries(OPTIONS)) {
    expect(keptIn({ [option]: value })).not.toHaveProperty(id);
    expect(steps).toContain(`\`${option}\``);
  }
});
