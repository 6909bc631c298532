import type { Made } from './made.ts';

/**
 * Everything in the template that moto 5.2.5 does not support. The product contains none of it. The test fails for an
 * entry that a later moto supports.
 */

export interface Template {
  readonly Resources: Readonly<Record<string, TemplateResource>>;
}

interface TemplateResource {
  readonly Type: string;
  readonly DependsOn?: readonly string[];
  readonly Properties?: Readonly<Record<string, unknown>>;
}

interface Refused {
  readonly type: string;
  /** Part of moto's answer or log when the template contains the resource. */
  readonly answer: string;
}

/** Resources that moto refuses; removed from the template. */
export const REFUSED: readonly Refused[] = [
  // The migrate and registry steps: the stack waits for their functions, which moto runs only in Docker.
  { type: 'Custom::MillraceStep', answer: 'CREATE_IN_PROGRESS' },
  // It refers to the alarms, which moto does not create.
  { type: 'AWS::CloudWatch::Dashboard', answer: 'Fn::GetAtt references undefined resource MillraceAlarms' },
];

/** Resource types that moto skips without an error. */
export const NOT_MADE: readonly string[] = [
  'AWS::ApiGatewayV2::Api',
  'AWS::ApiGatewayV2::Integration',
  'AWS::ApiGatewayV2::Route',
  'AWS::ApiGatewayV2::Stage',
  'AWS::CloudWatch::Alarm',
  'AWS::CloudWatch::CompositeAlarm',
  'AWS::Lambda::EventInvokeConfig',
  'AWS::Logs::SubscriptionFilter',
  'AWS::SQS::QueuePolicy',
  'AWS::Scheduler::Schedule',
  'AWS::Scheduler::ScheduleGroup',
];

interface NotKept {
  readonly what: string;
  lost(made: Made): boolean;
}

/** Properties that moto drops from resources that it creates. */
export const NOT_KEPT: readonly NotKept[] = [
  {
    what: 'RedriveAllowPolicy of a dead-letter queue',
    lost: ({ queues }) => Object.values(queues).every((attributes) => attributes.RedriveAllowPolicy === undefined),
  },
  {
    what: 'the architecture of a function, arm64',
    lost: ({ functions }) => Object.values(functions).every(({ Architectures }) => Architectures[0] === 'x86_64'),
  },
  {
    what: 'the format of inline policies of a role',
    lost: ({ roles }) => Object.values(roles).some(({ policies }) => typeof policies.invoke === 'string'),
  },
];

/** Returns the template without the refused resource types, except `save`. */
export function supported({ Resources, ...rest }: Template, save?: string): Template {
  const refused = new Set(REFUSED.map(({ type }) => type).filter((type) => type !== save));
  const kept = Object.entries(Resources).filter(([, { Type }]) => !refused.has(Type));
  const names = new Set(kept.map(([name]) => name));
  const waiting = kept.map(([name, { DependsOn = [], ...resource }]) => {
    return [name, { ...resource, DependsOn: [DependsOn].flat().filter((other) => names.has(other)) }];
  });
  return { ...rest, Resources: Object.fromEntries(waiting) };
}
