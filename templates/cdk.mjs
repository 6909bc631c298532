import { App } from 'aws-cdk-lib';
import { MillraceStack } from 'millrace/cdk';

// The handlers in jobs/, in a stack of their own. The settings of each stage: cdk.json.
new MillraceStack(new App());
