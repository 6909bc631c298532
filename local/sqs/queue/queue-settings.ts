import { invalidParameter, SqsError } from '../errors.ts';
import {
  parseRedriveAllowPolicy,
  parseRedrivePolicy,
  type RedriveAllowPolicy,
  type RedrivePolicy,
} from './redrive-policy.ts';

/** The settings of a queue, parsed from its attributes; times in milliseconds, sizes in bytes. */
export interface QueueSettings {
  /** The attributes that clients have set, as text. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly visibilityMs: number;
  readonly delayMs: number;
  readonly maximumBytes: number;
  readonly retentionMs: number;
  readonly waitSeconds: number;
  readonly redrive?: RedrivePolicy;
  readonly redriveAllow: RedriveAllowPolicy;
  readonly fifo: boolean;
  readonly contentBasedDeduplication: boolean;
  readonly deduplicationPerGroup: boolean;
}

interface IntegerRule {
  readonly least: number;
  readonly most: number;
  readonly byDefault: number;
}

const INTEGERS = {
  VisibilityTimeout: { least: 0, most: 43_200, byDefault: 30 },
  DelaySeconds: { least: 0, most: 900, byDefault: 0 },
  MaximumMessageSize: { least: 1024, most: 1_048_576, byDefault: 1_048_576 },
  MessageRetentionPeriod: { least: 60, most: 1_209_600, byDefault: 345_600 },
  ReceiveMessageWaitTimeSeconds: { least: 0, most: 20, byDefault: 0 },
  KmsDataKeyReusePeriodSeconds: { least: 60, most: 86_400, byDefault: 300 },
} as const satisfies Record<string, IntegerRule>;

const CHOICES: Readonly<Record<string, readonly string[]>> = {
  FifoQueue: ['true', 'false'],
  ContentBasedDeduplication: ['true', 'false'],
  SqsManagedSseEnabled: ['true', 'false'],
  DeduplicationScope: ['messageGroup', 'queue'],
  FifoThroughputLimit: ['perQueue', 'perMessageGroupId'],
};

const FREE = new Set(['Policy', 'KmsMasterKeyId', 'RedrivePolicy', 'RedriveAllowPolicy']);
const FIFO_ONLY = new Set(['ContentBasedDeduplication', 'DeduplicationScope', 'FifoThroughputLimit']);

/** Attributes that GetQueueAttributes returns even if they were not set. */
export const DEFAULT_ATTRIBUTES: Readonly<Record<string, string>> = {
  VisibilityTimeout: '30',
  DelaySeconds: '0',
  MaximumMessageSize: '1048576',
  MessageRetentionPeriod: '345600',
  ReceiveMessageWaitTimeSeconds: '0',
  SqsManagedSseEnabled: 'true',
};

export const SETTABLE_ATTRIBUTES: ReadonlySet<string> = new Set([
  ...Object.keys(INTEGERS),
  ...Object.keys(CHOICES),
  ...FREE,
]);

/**
 * Parses the attributes of CreateQueue and SetQueueAttributes; an empty value clears the attribute.
 * @throws SqsError InvalidAttributeName, InvalidAttributeValue, InvalidParameterValue (redrive policies)
 */
export function readSettings(given: Readonly<Record<string, unknown>>, fifo: boolean): QueueSettings {
  const attributes: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    checkAttribute(name, value, fifo);
    if (value !== '') attributes[name] = String(value);
  }
  const redrive = parseRedrivePolicy(attributes.RedrivePolicy);
  return {
    attributes,
    visibilityMs: 1000 * integer(attributes, 'VisibilityTimeout'),
    delayMs: 1000 * integer(attributes, 'DelaySeconds'),
    maximumBytes: integer(attributes, 'MaximumMessageSize'),
    retentionMs: 1000 * integer(attributes, 'MessageRetentionPeriod'),
    waitSeconds: integer(attributes, 'ReceiveMessageWaitTimeSeconds'),
    ...(redrive === undefined ? {} : { redrive }),
    redriveAllow: parseRedriveAllowPolicy(attributes.RedriveAllowPolicy),
    fifo,
    contentBasedDeduplication: attributes.ContentBasedDeduplication === 'true',
    deduplicationPerGroup: attributes.DeduplicationScope === 'messageGroup',
  };
}

function checkAttribute(name: string, value: unknown, fifo: boolean): void {
  if (!SETTABLE_ATTRIBUTES.has(name)) throw new SqsError('InvalidAttributeName', `Unknown Attribute ${name}.`);
  if (!fifo && (FIFO_ONLY.has(name) || (name === 'FifoQueue' && value === 'true'))) {
    throw new SqsError('InvalidAttributeName', `You can specify the ${name} only when FifoQueue is set to true.`);
  }
  if (value === '') return;
  if (typeof value !== 'string' || (name === 'Policy' && !isObject(value))) throw badValue(name);
  const choices = CHOICES[name];
  if (choices !== undefined && !choices.includes(value)) throw badValue(name);
  const rule: IntegerRule | undefined = Object.hasOwn(INTEGERS, name)
    ? INTEGERS[name as keyof typeof INTEGERS]
    : undefined;
  if (rule === undefined) return;
  if (!/^\d{1,9}$/.test(value) || Number(value) < rule.least || Number(value) > rule.most) throw badValue(name);
}

function isObject(json: string): boolean {
  try {
    const parsed: unknown = JSON.parse(json);
    return typeof parsed === 'object' && parsed !== null;
  } catch {
    return false;
  }
}

function badValue(name: string): SqsError {
  return new SqsError('InvalidAttributeValue', `Invalid value for the parameter ${name}.`);
}

function integer(attributes: Readonly<Record<string, string>>, name: keyof typeof INTEGERS): number {
  const text = attributes[name];
  return text === undefined ? INTEGERS[name].byDefault : Number(text);
}

/** @throws SqsError InvalidParameterValue */
export function checkQueueName(name: string, fifo: boolean): void {
  const stem = name.endsWith('.fifo') ? name.slice(0, -'.fifo'.length) : name;
  if (name.length > 80 || !/^[A-Za-z0-9_-]+$/.test(stem)) {
    const reason = 'Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length';
    throw new SqsError('InvalidParameterValue', reason);
  }
  if (fifo && !name.endsWith('.fifo')) throw invalidParameter('QueueName', name, 'A FIFO queue name ends with .fifo.');
  if (!fifo && name.endsWith('.fifo')) {
    throw invalidParameter('QueueName', name, 'A name that ends with .fifo requires the attribute FifoQueue.');
  }
}
