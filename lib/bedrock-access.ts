import { Stack } from 'aws-cdk-lib';
import { Grant, type GrantOnPrincipalOptions, type Role } from 'aws-cdk-lib/aws-iam';
import { type BedrockEndpoint, readBedrockAddress } from '../lambdas/bedrock.ts';
import type { Model } from '../lambdas/catalog/catalog.ts';
import { acknowledge } from './acknowledge.ts';

/** A model that the role calls. */
type Called = BedrockEndpoint & { model: string };

/** What the role may do, as arguments of a grant. */
type Permission = Pick<GrantOnPrincipalOptions, 'actions' | 'resourceArns' | 'conditions'>;

const calledBy = (models: Model[]): Called[] => {
  const targets = models.flatMap((model) => model.targets).filter(({ auth }) => auth === 'iam');
  const called = targets.flatMap(({ baseUrl, model }) => {
    const endpoint = readBedrockAddress(baseUrl);
    return endpoint ? [{ ...endpoint, model }] : [];
  });
  // Models may share a target, e.g. one per protocol.
  return [...new Map(called.map((one) => [JSON.stringify(one), one])).values()];
};

/** An inference profile is named by an area and the model that it leads to, e.g. `eu.anthropic.claude-…`. */
const PROFILE = /^(?:global|apac|us-gov|[a-z]{2})\.(?<model>.+)$/;

/** On `bedrock-runtime` a model is a resource. */
const runtimePermissions = (stack: Stack, { region, model }: Called): Permission[] => {
  const invoke = (resource: string, conditions = {}): Permission => ({
    actions: ['bedrock:InvokeModel', 'bedrock:InvokeModelWithResponseStream'],
    resourceArns: [resource],
    conditions,
  });
  const arnOf = (resource: string, resourceName: string, place: { region: string; account?: '' }) =>
    stack.formatArn({ service: 'bedrock', resource, resourceName, ...place });
  const modelArn = (name: string, area: string) =>
    arnOf('foundation-model', name, { region: area, account: '' });
  const profiled = PROFILE.exec(model)?.groups?.model;
  const isArn = model.startsWith('arn:');
  if (!isArn && profiled === undefined) return [invoke(modelArn(model, region))];
  const profile = isArn ? model : arnOf('inference-profile', model, { region });
  // A profile leads to its model in any region of its area; the condition allows no other way to it.
  const through = { StringEquals: { 'bedrock:InferenceProfileArn': profile } };
  return [invoke(profile), invoke(modelArn(profiled ?? '*', '*'), through)];
};

/** On `bedrock-mantle` a model is a condition, and the account's default project the resource. */
const mantlePermission = (stack: Stack, { region, model }: Called): Permission => ({
  actions: ['bedrock-mantle:CreateInference'],
  resourceArns: [
    stack.formatArn({
      ...{ service: 'bedrock-mantle', region },
      ...{ resource: 'project', resourceName: 'default' },
    }),
  ],
  conditions: { StringEquals: { 'bedrock-mantle:Model': model } },
});

/** How cdk-nag writes an ARN in a finding. */
const findingOf = (stack: Stack, arn: string): string =>
  `AwsSolutions-IAM5[Resource::${arn.replaceAll(stack.partition, '<AWS::Partition>')}]`;

/** Grants the calls of the targets with `auth: "iam"`: of the models that they name, in their regions. */
export const grantBedrock = (role: Role, models: Model[]): void => {
  const stack = Stack.of(role);
  const permissions = calledBy(models).flatMap((called) =>
    called.service === 'bedrock'
      ? runtimePermissions(stack, called)
      : [mantlePermission(stack, called)],
  );
  for (const permission of permissions) {
    Grant.addToPrincipal({ grantee: role, ...permission });
    for (const arn of permission.resourceArns.filter((one) => one.includes('*'))) {
      acknowledge(role, {
        [findingOf(stack, arn)]: 'The condition allows it through one inference profile only.',
      });
    }
  }
};
