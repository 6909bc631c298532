import { CfnOutput } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import type { Millrace } from './millrace.ts';

/** What somebody wants to know who has just deployed. */
export class Outputs extends Construct {
  constructor(scope: Construct, id: string, { stage, handlers, api, operatorPolicy }: Millrace) {
    super(scope, id);
    if (api) this.say('ApiUrl', api.url, 'The HTTP API');
    for (const { plan, queue, deadLetterQueue } of handlers) {
      const words = plan.name
        .replace('.', '_for_')
        .split('_')
        .map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`);
      this.say(`${words.join('')}Queue`, queue.queueUrl, `Queue of ${plan.name}`);
      this.say(`${words.join('')}DeadLetterQueue`, deadLetterQueue.queueUrl, `Dead-letter queue of ${plan.name}`);
    }
    operatorPolicy.policies.forEach(({ managedPolicyArn }, index) => {
      this.say(`OperatorPolicy${index + 1}`, managedPolicyArn, 'Attach it to whoever redrives from the AWS console');
    });
    this.say('Next', `npx millrace doctor --stage ${stage}`, 'Compares what is deployed with the code');
  }

  private say(name: string, value: string, description: string): void {
    new CfnOutput(this, name, { value, description }).overrideLogicalId(name);
  }
}
