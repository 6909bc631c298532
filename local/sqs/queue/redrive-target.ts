import { type Broker, queueArn, queueByArn } from '../broker.ts';
import { invalidParameter } from '../errors.ts';
import type { QueueSettings } from './queue-settings.ts';
import { allowsSource } from './redrive-policy.ts';

/**
 * Checks a queue's redrive policy against the dead-letter queue it names.
 * @throws SqsError InvalidParameterValue: no such queue, of the other kind, or its RedriveAllowPolicy says no
 */
export function checkRedriveTarget(broker: Broker, name: string, settings: QueueSettings): void {
  if (settings.redrive === undefined) return;
  const refuse = (reason: string) => invalidParameter('RedrivePolicy', settings.attributes.RedrivePolicy, reason);
  const target = queueByArn(broker, settings.redrive.deadLetterTargetArn);
  if (target === undefined) throw refuse('Dead letter target does not exist.');
  if (target.settings.fifo !== settings.fifo) {
    throw refuse(`Dead-letter queue must be same type of queue as the source: ${settings.fifo ? 'FIFO' : 'standard'}.`);
  }
  if (!allowsSource(target.settings.redriveAllow, queueArn(broker, name))) {
    throw refuse('The RedriveAllowPolicy of the dead-letter queue does not allow this queue as a source.');
  }
}
