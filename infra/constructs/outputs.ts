import { CfnOutput } from 'aws-cdk-lib';
import type { Endpoint } from 'aws-cdk-lib/aws-rds';
import { Construct } from 'constructs';
import { DATABASE, type DatabaseAccess } from './database.ts';
import type { Place } from './network.ts';
import type { OperatorPolicy } from './operator-policy.ts';

/** What the outputs describe. */
interface Parts {
  /** The URL of every queue, without the name at its end. */
  readonly queueUrls: string;
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
    const { queueUrls, api, operatorPolicy, database, place } = of;
    if (api) this.add('ApiUrl', api.url, 'URL of the HTTP API');
    if (api?.domainTarget !== undefined)
      this.add('ApiDomainTarget', api.domainTarget, 'What the DNS record of apiDomain must point to');
    if (database.endpoint) this.addDatabase(database, database.endpoint);
    if (database.endpoint && place) this.addPlace(place);
    this.add('Queues', queueUrls, 'The URL of each queue, without its name such as millrace-<stage>-<handler>-dlq');
    const { managedPolicyArn } = operatorPolicy.policy;
    this.add('OperatorPolicy', managedPolicyArn, 'Policy for people who redrive from the AWS console');
    this.add('Next', next, 'Command that compares the deployment with the code');
  }

  private addDatabase({ owner, app }: DatabaseAccess, { socketAddress }: Endpoint): void {
    this.add('Database', `${socketAddress}/${DATABASE}`, 'Host, port and name of the new database');
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
