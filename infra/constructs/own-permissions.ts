import { Stack } from 'aws-cdk-lib';
import { type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { AwsOptions } from '../../core/handler/aws/aws-options.ts';
import { acknowledge } from './acknowledge.ts';

const REASON = 'The definition of the handler states this permission.';

/** Gives a role the permissions that the definition of its handler states. */
export function allowOwn(role: IRole, policy: NonNullable<AwsOptions['policy']>, stage: string): void {
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

function isWide(text: string): boolean {
  return text.includes('*');
}

/** Replaces the placeholders of a definition, such as `{stage}`. */
function replaceIn(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (word, name: string) => values[name] ?? word);
}
