import type { Made } from './made.ts';

/**
 * Everything that moto 5.2.5 cannot take of the template. The product knows nothing of it. The test fails on an entry
 * that a later moto can take.
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
  /** Of what moto says, in its answer or in its log, when the resource is left in. */
  readonly answer: string;
}

/** Taken out of the template, which is refused with them in it. */
export const REFUSED: readonly Refused[] = [
  // The migrate and registry steps. Besides, their functions would need Docker.
  { type: 'Custom::Trigger', answer: 'Object of type LambdaVersion is not JSON serializable' },
  // It names the alarms, which are not made.
  { type: 'AWS::CloudWatch::Dashboard', answer: 'Fn::GetAtt references undefined resource MillraceAlarms' },
];

/** Passed over without a word. */
export const NOT_MADE: readonly string[] = [
  'AWS::ApiGatewayV2::Api',
  'AWS::ApiGatewayV2::Integration',
  'AWS::ApiGatewayV2::Route',
  'AWS::ApiGatewayV2::Stage',
  'AWS::CloudWatch::Alarm',
  'AWS::CloudWatch::CompositeAlarm',
  'AWS::Lambda::EventInvokeConfig',
  'AWS::SQS::QueuePolicy',
  'AWS::Scheduler::Schedule',
  'AWS::Scheduler::ScheduleGroup',
];

interface NotKept {
  readonly what: string;
  lost(made: Made): boolean;
}

/** Of resources that are made. */
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
    what: 'the form of policies that are part of a role',
    lost: ({ roles }) => Object.values(roles).some(({ policies }) => typeof policies.invoke === 'string'),
  },
];

/** The template without what is refused, save one type. */
export function takeable({ Resources, ...rest }: Template, save?: string): Template {
  const refused = new Set(REFUSED.map(({ type }) => type).filter((type) => type !== save));
  const kept = Object.entries(Resources).filter(([, { Type }]) => !refused.has(Type));
  const names = new Set(kept.map(([name]) => name));
  const waiting = kept.map(([name, { DependsOn = [], ...resource }]) => {
    return [name, { ...resource, DependsOn: [DependsOn].flat().filter((other) => names.has(other)) }];
  });
  return { ...rest, Resources: Object.fromEntries(waiting) };
}
