import { CfnOutput } from 'aws-cdk-lib';
import type { DatabaseCluster } from 'aws-cdk-lib/aws-rds';
import { Construct } from 'constructs';
import { DATABASE, type DatabaseAccess } from './database.ts';
import type { DeployedHandler } from './deployed-handler.ts';
import type { Place } from './network.ts';
import type { OperatorPolicy } from './operator-policy.ts';

/** What the outputs describe. */
interface Parts {
  readonly handlers: readonly DeployedHandler[];
  readonly api: { readonly url: string; readonly domainTarget: string | undefined } | undefined;
  readonly operatorPolicy: OperatorPolicy;
  readonly database: DatabaseAccess;
  readonly place: Place | undefined;
}

export interface OutputsProps {
  readonly of: Parts;
  /** The command to run next. */
  readonly next: string;
}

/** The outputs of the stack: addresses, secrets, and the command to run next. */
export class Outputs extends Construct {
  constructor(scope: Construct, id: string, { of, next }: OutputsProps) {
    super(scope, id);
    const { handlers, api, operatorPolicy, database, place } = of;
    if (api) this.add('ApiUrl', api.url, 'URL of the HTTP API');
    if (api?.domainTarget !== undefined)
      this.add('ApiDomainTarget', api.domainTarget, 'What the DNS record of apiDomain must point to');
    if (database.cluster) this.addDatabase(database, database.cluster);
    if (database.cluster && place) this.addPlace(place);
    for (const { plan, queue, deadLetterQueue } of handlers) {
      const words = plan.name
        .replace('.', '_for_')
        .split('_')
        .map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`);
      this.add(`${words.join('')}Queue`, queue.queueUrl, `Queue of ${plan.name}`);
      this.add(`${words.join('')}DeadLetterQueue`, deadLetterQueue.queueUrl, `Dead-letter queue of ${plan.name}`);
    }
    operatorPolicy.policies.forEach(({ managedPolicyArn }, index) => {
      this.add(`OperatorPolicy${index + 1}`, managedPolicyArn, 'Policy for people who redrive from the AWS console');
    });
    this.add('Next', next, 'Command that compares the deployment with the code');
  }

  private addDatabase({ owner, app }: DatabaseAccess, { clusterEndpoint }: DatabaseCluster): void {
    this.add('Database', `${clusterEndpoint.socketAddress}/${DATABASE}`, 'Host, port and name of the new database');
    this.add('DatabaseOwnerSecret', owner.secretArn, 'Secret of the administrator of the database');
    if (app)
      this.add(
        'DatabaseAppSecret',
        app.secretArn,
        'Secret of the login for applications, which may enqueue and cancel jobs',
      );
  }

  private addPlace({ vpc, securityGroups }: Place): void {
    this.add('Vpc', vpc.vpcId, 'VPC of the functions and the database');
    const ids = securityGroups.map(({ securityGroupId }) => securityGroupId).join(',');
    this.add('SecurityGroup', ids, 'Security group whose members may connect to the database');
  }

  private add(name: string, value: string, description: string): void {
    new CfnOutput(this, name, { value, description }).overrideLogicalId(name);
  }
}
