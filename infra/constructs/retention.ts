import { RemovalPolicies, RemovalPolicy } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { DeployedHandler } from './deployed-handler.ts';

/** Keeps logs and dead-letter queues that are removed, except when the creation of the stack fails. */
export function retainRecords(scope: Construct, handlers: readonly DeployedHandler[]): void {
  RemovalPolicies.of(scope).retainOnUpdateOrDelete({ applyToResourceTypes: ['AWS::Logs::LogGroup'] });
  for (const { deadLetterQueue } of handlers) {
    deadLetterQueue.applyRemovalPolicy(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE);
  }
}
