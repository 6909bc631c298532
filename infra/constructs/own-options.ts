import { Size, Stack } from 'aws-cdk-lib';
import { type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { LayerVersion, Tracing } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import type { AwsOptions } from '../../core/handler/aws/aws-options.ts';
import { acknowledge } from './acknowledge.ts';
import type { DeployedFunctionProps } from './deployed-function.ts';

const REASON = 'The definition of the handler states this permission.';

/** Gives a role the permissions that the definition of its handler states. */
export function allowOwn(role: IRole, { policy = [] }: AwsOptions, stage: string): void {
  const { region, account } = Stack.of(role);
  const here = { stage, region, account };
  // As the report of cdk-nag writes them.
  const shown = { stage, region: '<AWS::Region>', account: '<AWS::AccountId>' };
  for (const { actions, resources } of policy) {
    role.addToPrincipalPolicy(
      new PolicyStatement({ actions: [...actions], resources: resources.map((resource) => replaceIn(resource, here)) }),
    );
    for (const action of actions.filter(isWide)) acknowledge(role, `IAM5[Action::${action}]`, REASON);
    for (const resource of resources.filter(isWide)) {
      acknowledge(role, `IAM5[Resource::${replaceIn(resource, shown)}]`, REASON);
    }
  }
}

/** Returns what the definition of a handler states about its function, as properties of CDK. */
export function ownProperties(
  scope: Construct,
  { ephemeralStorage, tracing, layers = [] }: AwsOptions = {},
): NonNullable<DeployedFunctionProps['own']> {
  const { region } = Stack.of(scope);
  const versions = layers.map((arn, index) =>
    LayerVersion.fromLayerVersionArn(scope, `Layer${index + 1}`, replaceIn(arn, { region })),
  );
  return {
    ...(ephemeralStorage !== undefined && { ephemeralStorageSize: Size.mebibytes(ephemeralStorage) }),
    ...(tracing !== undefined && { tracing: tracing ? Tracing.ACTIVE : Tracing.DISABLED }),
    ...(versions.length > 0 && { layers: versions }),
  };
}

function isWide(text: string): boolean {
  return text.includes('*');
}

/** Replaces the placeholders of a definition, such as `{stage}`. */
function replaceIn(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (word, name: string) => values[name] ?? word);
}
