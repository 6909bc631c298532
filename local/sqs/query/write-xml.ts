import type { SqsError } from '../errors.ts';

const NAMESPACE = 'http://queue.amazonaws.com/doc/2012-11-05/';
const DECLARATION = '<?xml version="1.0"?>';

/** Actions whose response has no result element. */
const WITHOUT_RESULT: ReadonlySet<string> = new Set([
  'AddPermission',
  'ChangeMessageVisibility',
  'DeleteMessage',
  'DeleteQueue',
  'PurgeQueue',
  'RemovePermission',
  'SetQueueAttributes',
  'TagQueue',
  'UntagQueue',
]);

/** Element names of lists; that of `Successful` depends on the action. */
const LISTS: Readonly<Record<string, string>> = {
  Failed: 'BatchResultErrorEntry',
  Messages: 'Message',
  QueueUrls: 'QueueUrl',
  queueUrls: 'QueueUrl',
  Results: 'ListMessageMoveTasksResultEntry',
};

const MAPS: Readonly<Record<string, readonly [element: string, key: string]>> = {
  Attributes: ['Attribute', 'Name'],
  MessageAttributes: ['MessageAttribute', 'Name'],
  Tags: ['Tag', 'Key'],
};

/** Converts the result of an action to a response in the query protocol. */
export function writeResult(action: string, answer: object, requestId: string): string {
  const result = WITHOUT_RESULT.has(action) ? '' : element(`${action}Result`, members(answer, action));
  const metadata = element('ResponseMetadata', element('RequestId', requestId));
  return `${DECLARATION}<${action}Response xmlns="${NAMESPACE}">${result}${metadata}</${action}Response>`;
}

export function writeFault({ queryCode, message, senderFault }: SqsError, requestId: string): string {
  const error = {
    Type: senderFault ? 'Sender' : 'Receiver',
    Code: queryCode,
    Message: message,
    Detail: '',
  };
  const content = element('Error', members(error, '')) + element('RequestId', requestId);
  return `${DECLARATION}<ErrorResponse xmlns="${NAMESPACE}">${content}</ErrorResponse>`;
}

function members(value: object, action: string): string {
  return Object.entries(value)
    .map(([name, member]) => write(name, member, action))
    .join('');
}

function write(name: string, value: unknown, action: string): string {
  if (Array.isArray(value)) {
    const item = name === 'Successful' ? `${action}ResultEntry` : (LISTS[name] ?? name);
    return value.map((entry) => element(item, content(entry, action))).join('');
  }
  const map = MAPS[name];
  if (map === undefined) return value === undefined ? '' : element(name, content(value, action));
  const [item, key] = map;
  return Object.entries(value as object)
    .map(([entry, held]) => element(item, element(key, toText(entry)) + element('Value', content(held, action))))
    .join('');
}

function content(value: unknown, action: string): string {
  return typeof value === 'object' && value !== null ? members(value, action) : toText(String(value));
}

function element(name: string, content: string): string {
  return content === '' ? `<${name}/>` : `<${name}>${content}</${name}>`;
}

/**
 * Escapes text. A carriage return is written as a reference, because parsers convert it to a line feed. XML cannot
 * represent other control characters.
 */
function toText(text: string): string {
  return text
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\u{fffd}')
    .replace(/[&<>"'\r]/g, (character) => `&#${character.charCodeAt(0)};`);
}
