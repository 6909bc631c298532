import { App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { MillraceStack } from './stack.ts';

// Errors are about the user's handler files and settings, so the message is printed without a stack trace.
try {
  const app = new App();
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  new MillraceStack(app);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  // Exit at once: otherwise CDK writes the incomplete stack as if it were empty.
  process.exit(1);
}
