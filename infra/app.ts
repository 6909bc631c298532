import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { extendBy } from './extension.ts';
import { checkOwn } from './own-checks.ts';
import { MillraceStack } from './stack.ts';

// Errors are about the user's handler files and settings, so the message is printed without a stack trace.
try {
  const app = new App();
  const stack = new MillraceStack(app);
  checkOwn(app, stack.millrace);
  await extendBy(join(import.meta.dirname, 'extend.ts'), stack);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  // Exit at once: otherwise CDK writes the incomplete stack as if it were empty.
  process.exit(1);
}
