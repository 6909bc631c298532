import { Fn, NestedStack, Stack } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { bundleHandlers } from '../bundle/bundle-handlers.ts';
import type { HandlerPlan } from '../plan/handler-plan.ts';
import { stackOf } from '../plan/handler-stacks.ts';
import { bundleFolder } from './deployed-function.ts';
import { DeployedHandler, type DeployedHandlerProps } from './deployed-handler.ts';
import type { Dispatcher } from './dispatcher.ts';
import { QueuePolicy } from './queue-policy.ts';

export interface DeployedHandlersProps extends Omit<DeployedHandlerProps, 'plan'> {
  readonly plans: readonly HandlerPlan[];
  readonly dispatcher: Dispatcher;
  /** Number of nested stacks for the handlers; undefined for none. */
  readonly stacks: number | undefined;
}

/** The handlers of a stage: in its own stack, or in nested stacks where they are too many for one. */
export class DeployedHandlers extends Construct {
  readonly all: readonly DeployedHandler[];
  /** The URL of every queue, without the name at its end. */
  readonly queueUrls: string;

  constructor(scope: Construct, id: string, { plans, dispatcher, stacks, ...rest }: DeployedHandlersProps) {
    super(scope, id);
    bundleHandlers(
      plans.map(({ queueName, file, nativeModules }) => ({
        ...{ file, folder: bundleFolder(this, queueName), nativeModules },
      })),
    );
    const groups = new Map<Construct, DeployedHandler[]>();
    this.all = plans.map((plan) => {
      const group = stacks === undefined ? this : this.nested(stackOf(plan.name, stacks));
      const handler = new DeployedHandler(group, plan.name, { ...rest, plan });
      dispatcher.receiveEnds(handler);
      groups.set(group, [...(groups.get(group) ?? []), handler]);
      return handler;
    });
    for (const [group, handlers] of groups) new QueuePolicy(group, 'Tls', rest.stage, handlers);
    this.queueUrls = stacks === undefined ? urlOf(this.all) : this.computeUrl();
  }

  private nested(number: number): Construct {
    const id = `Stack${number}`;
    const known = this.node.tryFindChild(id) as NestedStack | undefined;
    return known ?? new NestedStack(this, id, { description: `Handlers of Millrace, part ${number}` });
  }

  /**
   * Not from a queue of a nested stack: the migration comes before the nested stacks, and the function that invokes it
   * also invokes the registry step, which has this URL.
   */
  private computeUrl(): string {
    const { region, urlSuffix, account } = Stack.of(this);
    return `https://sqs.${region}.${urlSuffix}/${account}/`;
  }
}

function urlOf([first]: readonly DeployedHandler[]): string {
  if (first === undefined)
    throw new Error('handlers: no handler file was found; write one, such as functions/handlers/send-reminder.ts');
  return Fn.select(0, Fn.split(first.plan.queueName, first.queue.queueUrl));
}
