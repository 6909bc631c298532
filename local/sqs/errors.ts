/** The errors of Amazon SQS: JSON shape, the older query code that SDKs still show, and HTTP status. */
const CATALOGUE = {
  BatchEntryIdsNotDistinct: ['AWS.SimpleQueueService.BatchEntryIdsNotDistinct', 400],
  BatchRequestTooLong: ['AWS.SimpleQueueService.BatchRequestTooLong', 400],
  EmptyBatchRequest: ['AWS.SimpleQueueService.EmptyBatchRequest', 400],
  InternalFailure: ['InternalFailure', 500],
  InvalidAction: ['InvalidAction', 400],
  InvalidAddress: ['InvalidAddress', 404],
  InvalidAttributeName: ['InvalidAttributeName', 400],
  InvalidAttributeValue: ['InvalidAttributeValue', 400],
  InvalidBatchEntryId: ['AWS.SimpleQueueService.InvalidBatchEntryId', 400],
  InvalidMessageContents: ['InvalidMessageContents', 400],
  InvalidParameterValue: ['InvalidParameterValue', 400],
  MessageNotInflight: ['AWS.SimpleQueueService.MessageNotInflight', 400],
  MissingAuthenticationToken: ['MissingAuthenticationToken', 403],
  MissingParameter: ['MissingParameter', 400],
  OverLimit: ['OverLimit', 403],
  PurgeQueueInProgress: ['AWS.SimpleQueueService.PurgeQueueInProgress', 403],
  QueueDeletedRecently: ['AWS.SimpleQueueService.QueueDeletedRecently', 400],
  QueueDoesNotExist: ['AWS.SimpleQueueService.NonExistentQueue', 400],
  QueueNameExists: ['QueueAlreadyExists', 400],
  ReceiptHandleIsInvalid: ['ReceiptHandleIsInvalid', 404],
  ResourceNotFoundException: ['ResourceNotFoundException', 404],
  SerializationException: ['SerializationException', 400],
  TooManyEntriesInBatchRequest: ['AWS.SimpleQueueService.TooManyEntriesInBatchRequest', 400],
  UnsupportedOperation: ['AWS.SimpleQueueService.UnsupportedOperation', 400],
} as const satisfies Record<string, readonly [queryCode: string, status: number]>;

export type SqsErrorCode = keyof typeof CATALOGUE;

/** Type names of errors that come from AWS's web framework and not from the SQS model. */
const FRAMEWORK_TYPES: Partial<Record<SqsErrorCode, string>> = {
  InternalFailure: 'com.amazon.coral.service#InternalFailure',
  InvalidAction: 'com.amazon.coral.service#UnknownOperationException',
  InvalidParameterValue: 'com.amazon.coral.service#InvalidParameterValueException',
  MissingParameter: 'com.amazon.coral.service#MissingRequiredParameterException',
  SerializationException: 'com.amazon.coral.service#SerializationException',
};

/** An error response: `code` is the name of the shape, `queryCode` the value of `x-amzn-query-error`. */
export class SqsError extends Error {
  override readonly name = 'SqsError';
  readonly code: SqsErrorCode;
  readonly queryCode: string;
  readonly status: number;

  constructor(code: SqsErrorCode, message: string) {
    super(message);
    this.code = code;
    [this.queryCode, this.status] = CATALOGUE[code];
  }

  /** Value of `__type` in the JSON response. */
  get type(): string {
    return FRAMEWORK_TYPES[this.code] ?? `com.amazonaws.sqs#${this.code}`;
  }

  get senderFault(): boolean {
    return this.status < 500;
  }
}

export function invalidParameter(name: string, value: unknown, reason: string): SqsError {
  const shown = typeof value === 'string' ? value : JSON.stringify(value);
  return new SqsError('InvalidParameterValue', `Value ${shown} for parameter ${name} is invalid. Reason: ${reason}`);
}

export function missingParameter(name: string): SqsError {
  return new SqsError('MissingParameter', `The request must contain the parameter ${name}.`);
}

export function queueDoesNotExist(): SqsError {
  return new SqsError('QueueDoesNotExist', 'The specified queue does not exist.');
}
