import { SecretValue } from 'aws-cdk-lib';
import {
  ApiDestination,
  Authorization,
  Connection,
  EventField,
  type IApiDestination,
  Rule,
  RuleTargetInput,
} from 'aws-cdk-lib/aws-events';
import { ApiDestination as ApiDestinationTarget } from 'aws-cdk-lib/aws-events-targets';
import { Construct } from 'constructs';

export interface AlarmWebhookProps {
  readonly stage: string;
  readonly url: string;
  /** The alarms that notify, by name. */
  readonly alarmNames: readonly string[];
}

/** Posts the changes of alarms to a URL, as JSON whose `text` chat systems show. */
export class AlarmWebhook extends Construct {
  constructor(scope: Construct, id: string, { stage, url, alarmNames }: AlarmWebhookProps) {
    super(scope, id);
    const connection = new Connection(this, 'Connection', {
      // A connection requires a header. This one is public: only the URL identifies the receiver.
      authorization: Authorization.apiKey('X-Millrace-Stage', SecretValue.unsafePlainText(stage)),
    });
    // The interfaces of CDK do not support exactOptionalPropertyTypes.
    const destination = new ApiDestination(this, 'Destination', { connection, endpoint: url }) as IApiDestination;
    const [name, state, description] = ['alarmName', 'state.value', 'configuration.description'].map((field) =>
      EventField.fromPath(`$.detail.${field}`),
    );
    const event = RuleTargetInput.fromObject({
      text: `${name} is ${state}: ${description}`,
      ...{ alarm: name, state, description, at: EventField.fromPath('$.time'), stage },
    });
    new Rule(this, 'Rule', {
      description: `Alarms of millrace-${stage}`,
      eventPattern: {
        source: ['aws.cloudwatch'],
        detailType: ['CloudWatch Alarm State Change'],
        // By name and not by ARN: a pattern has at most 2,048 characters.
        detail: { alarmName: [...alarmNames], state: { value: ['ALARM', 'OK'] } },
      },
      targets: [new ApiDestinationTarget(destination, { event })],
    });
  }
}
