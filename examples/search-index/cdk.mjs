import { App } from 'aws-cdk-lib';
import { MillraceStack } from 'millrace/cdk';

// The handlers in jobs/, in a stack of their own. Settings: npx cdk deploy -c stage=dev, or "context" in cdk.json.
new MillraceStack(new App());
