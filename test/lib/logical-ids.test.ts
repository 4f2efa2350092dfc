import type { Template } from 'aws-cdk-lib/assertions';
import { expect, test } from 'vitest';
import { EVERY_OPTION, synthTemplate, WEB_FOLDER } from './synth.ts';

/**
 * Resources that hold data or an address. CloudFormation replaces a resource whose logical id changes,
 * and the id is derived from the construct ids, so renaming one deletes a table or moves a URL.
 */
const STATEFUL: Record<string, string[]> = {
  'AWS::DynamoDB::GlobalTable': [
    'TablesAnswers02CD3A6C',
    'TablesHistory40CCE7D9',
    'TablesKeys6B5A3ABF',
    'TablesMetersB1C8DA8D',
    'TablesPlans2B9D66DA',
    'TablesProjectsD51E92A2',
    'TablesRecords353FBC94',
  ],
  'AWS::SecretsManager::Secret': ['UpstreamSecretsSecretBDC0115A'],
  'AWS::Lambda::Function': [
    'AdminFunction6887E710',
    'ConsoleFilesFunctionCD41979C',
    'RouterFunction0F681190',
  ],
  'AWS::Lambda::Url': ['FrontDoorsFunctionUrlCAAEC561'],
  'AWS::ApiGateway::RestApi': ['FrontDoorsRestApi8552C2B3'],
  'AWS::Logs::LogGroup': ['AdminLogs922FEE7F', 'ConsoleFilesLogs8C7989A0', 'RouterLogs4973BD4D'],
};

const idsOf = (template: Template, type: string): string[] =>
  Object.keys(template.findResources(type)).toSorted();

const dev = synthTemplate();

test.each(Object.entries(STATEFUL))('the logical ids of %s never change', (type, ids) => {
  expect(idsOf(dev, type)).toEqual(ids);
});

test('the logical id of the custom domain never changes', () => {
  const ids = idsOf(synthTemplate(EVERY_OPTION), 'AWS::ApiGateway::DomainName');
  expect(ids).toEqual(['FrontDoorsCustomDomainNameBEFCD8C2']);
});

test('the logical ids of the Web Function and its endpoint never change', () => {
  const web = synthTemplate({ webFunction: 'on' }, { webFolder: WEB_FOLDER });
  expect(idsOf(web, 'AWS::Lambda::WebFunction')).toEqual(['WebDoorWebFunction6D1DABDC']);
  expect(idsOf(web, 'AWS::Lambda::WebFunctionEndpoint')).toEqual([
    'WebDoorWebFunctionEndpointCE5C1206',
  ]);
});
