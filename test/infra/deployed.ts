import type { Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';

export interface Resource {
  readonly Type: string;
  readonly DependsOn?: readonly string[];
  readonly Properties: Record<string, unknown>;
}

export interface Policy {
  readonly Statement: readonly { readonly Action: unknown; readonly Resource: unknown }[];
}

/** A synthesised template, with lookups by the names of a deployment. */
export class Deployed {
  readonly template: Template;
  readonly resources: Readonly<Record<string, Resource>>;

  constructor(stack: Stack) {
    this.template = Template.fromStack(stack);
    this.resources = this.template.toJSON().Resources as Record<string, Resource>;
  }

  all(type: string): Resource[] {
    return Object.values(this.resources).filter(({ Type }) => Type === type);
  }

  /** Returns the properties of the resource of `type` whose `property` is `value`. */
  find(type: string, property: string, value: unknown): Record<string, unknown> | undefined {
    return this.all(type).find(({ Properties }) => Properties[property] === value)?.Properties;
  }

  idOf(type: string, properties: object): string {
    const [id] = Object.keys(this.template.findResources(type, { Properties: properties }));
    return id ?? `no ${type}`;
  }

  arnOf(type: string, properties: object): object {
    return { 'Fn::GetAtt': [this.idOf(type, properties), 'Arn'] };
  }

  /** Returns the policy statements of a function's role. */
  statementsOf(functionName: string): Policy['Statement'] {
    const lambda = this.find('AWS::Lambda::Function', 'FunctionName', functionName);
    const { 'Fn::GetAtt': [role] = [] } = (lambda?.Role ?? {}) as { 'Fn::GetAtt'?: string[] };
    return policiesOf(this.resources[role ?? '']?.Properties ?? {}).flatMap(({ Statement }) => Statement);
  }
}

/** Returns the policies in a role. */
export function policiesOf({ Policies = [] }: Resource['Properties']): Policy[] {
  return (Policies as { PolicyDocument: Policy }[]).map(({ PolicyDocument }) => PolicyDocument);
}
