import { invalidParameter } from '../errors.ts';

/** After `maxReceiveCount` receives, a message moves to the queue with the ARN `deadLetterTargetArn`. */
export interface RedrivePolicy {
  readonly deadLetterTargetArn: string;
  readonly maxReceiveCount: number;
}

/** The queues that may use this queue as their dead-letter queue. */
export interface RedriveAllowPolicy {
  readonly redrivePermission: 'allowAll' | 'denyAll' | 'byQueue';
  readonly sourceQueueArns: readonly string[];
}

/**
 * Returns whether a message goes to the dead-letter queue instead of being received once more. SQS moves it at the next
 * receive, not when the last visibility timeout expires.
 */
export function isExhausted(policy: RedrivePolicy | undefined, receiveCount: number): boolean {
  return policy !== undefined && receiveCount >= policy.maxReceiveCount;
}

const PERMISSIONS = ['allowAll', 'denyAll', 'byQueue'] as const;

/** @throws SqsError InvalidParameterValue */
export function parseRedrivePolicy(text: string | undefined): RedrivePolicy | undefined {
  if (text === undefined) return undefined;
  const policy = parseObject('RedrivePolicy', text);
  const { deadLetterTargetArn, maxReceiveCount = 10 } = policy;
  if (typeof deadLetterTargetArn !== 'string' || deadLetterTargetArn === '') {
    throw invalidParameter(
      'RedrivePolicy',
      text,
      'Redrive policy does not contain mandatory attribute: deadLetterTargetArn.',
    );
  }
  const count = Number(maxReceiveCount);
  if (!Number.isInteger(count) || count < 1 || count > 1000) {
    const range = 'valid values are from 1 to 1000 both inclusive.';
    throw invalidParameter('RedrivePolicy', text, `Invalid value for maxReceiveCount: ${maxReceiveCount}, ${range}`);
  }
  return { deadLetterTargetArn, maxReceiveCount: count };
}

/** @throws SqsError InvalidParameterValue */
export function parseRedriveAllowPolicy(text: string | undefined): RedriveAllowPolicy {
  if (text === undefined) return { redrivePermission: 'allowAll', sourceQueueArns: [] };
  const { redrivePermission, sourceQueueArns } = parseObject('RedriveAllowPolicy', text);
  const permission = PERMISSIONS.find((known) => known === redrivePermission);
  const arns = sourceQueueArns === undefined ? [] : stringList(sourceQueueArns);
  const fits =
    permission === 'byQueue' ? arns !== undefined && arns.length >= 1 && arns.length <= 10 : arns?.length === 0;
  if (permission === undefined || arns === undefined || !fits) {
    const reason = 'redrivePermission is allowAll, denyAll, or byQueue with 1 to 10 sourceQueueArns.';
    throw invalidParameter('RedriveAllowPolicy', text, reason);
  }
  return { redrivePermission: permission, sourceQueueArns: arns };
}

export function allowsSource(policy: RedriveAllowPolicy, sourceArn: string): boolean {
  if (policy.redrivePermission === 'byQueue') return policy.sourceQueueArns.includes(sourceArn);
  return policy.redrivePermission === 'allowAll';
}

function parseObject(name: string, text: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null) return parsed as Record<string, unknown>;
  } catch {
    // Refused below, as is JSON that is not an object.
  }
  throw invalidParameter(name, text, 'Must be a JSON object.');
}

function stringList(value: unknown): string[] | undefined {
  return Array.isArray(value) && value.every((item) => typeof item === 'string') ? value : undefined;
}
