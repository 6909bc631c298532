import { type App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import type { IConstruct } from 'constructs';

/**
 * Fails the synthesis if a construct of Millrace breaks a rule of AWS Solutions. It judges the constructs as they are
 * now: what the user of this repository adds later, such as a permission with a wildcard, is not judged.
 */
export function checkOwn(app: App, constructs: IConstruct): void {
  const report = new AwsSolutionsChecks().validateScope(constructs);
  Validations.of(app).addPlugins({ name: 'AwsSolutions', validate: () => report });
}
