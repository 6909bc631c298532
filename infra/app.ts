import { App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { makeStack } from './stack.ts';

// One sentence in place of a stack trace: what is wrong is wrong in a file or a setting of the reader's.
try {
  const app = new App();
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  await makeStack(app, app.node.getAllContext());
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  // At once: CDK would write what there is of the stack by now, which looks like one that is empty.
  process.exit(1);
}
