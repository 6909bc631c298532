import { CfnOutput } from 'aws-cdk-lib';
import type { DatabaseCluster } from 'aws-cdk-lib/aws-rds';
import { Construct } from 'constructs';
import { DATABASE, type DatabaseAccess } from './database.ts';
import type { DeployedHandler } from './deployed-handler.ts';
import type { Place } from './network.ts';
import type { OperatorPolicy } from './operator-policy.ts';

export interface OutputsProps {
  readonly stage: string;
  readonly handlers: readonly DeployedHandler[];
  readonly api: { readonly url: string } | undefined;
  readonly operatorPolicy: OperatorPolicy;
  readonly database: DatabaseAccess;
  readonly place: Place | undefined;
}

/** What somebody wants to know who has just deployed. */
export class Outputs extends Construct {
  constructor(scope: Construct, id: string, { stage, handlers, api, operatorPolicy, database, place }: OutputsProps) {
    super(scope, id);
    if (api) this.say('ApiUrl', api.url, 'The HTTP API');
    if (database.cluster) this.sayDatabase(database, database.cluster);
    if (database.cluster && place) this.sayPlace(place);
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

  private sayDatabase({ owner, app }: DatabaseAccess, { clusterEndpoint }: DatabaseCluster): void {
    this.say('Database', `${clusterEndpoint.socketAddress}/${DATABASE}`, 'Host, port and name of the new database');
    this.say('DatabaseOwnerSecret', owner.secretArn, 'Its administrator');
    if (app) this.say('DatabaseAppSecret', app.secretArn, 'The login of applications: it may enqueue and cancel');
  }

  private sayPlace({ vpc, securityGroups }: Place): void {
    this.say('Vpc', vpc.vpcId, 'Where functions and database are');
    const ids = securityGroups.map(({ securityGroupId }) => securityGroupId).join(',');
    this.say('SecurityGroup', ids, 'What is in it may connect to the database');
  }

  private say(name: string, value: string, description: string): void {
    new CfnOutput(this, name, { value, description }).overrideLogicalId(name);
  }
}
