import { Validations } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/** Says why a rule of AWS Solutions is not kept here. */
export function acknowledge(construct: IConstruct, rule: string, reason: string): void {
  Validations.of(construct).acknowledge({ id: `AwsSolutions::AwsSolutions-${rule}`, reason });
}
