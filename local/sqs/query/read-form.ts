import type { Input } from '../actions/input.ts';
import { invalidParameter } from '../errors.ts';

/** The parameters as a tree: `Attribute.1.Name=a` is `{ Attribute: { 1: { Name: 'a' } } }`. */
interface Tree {
  [name: string]: Tree | string;
}

/** Lists, by the name of their parameter: `AttributeName.1`, or `AttributeName` from the oldest clients. */
const LISTS: Readonly<Record<string, string>> = {
  AttributeName: 'AttributeNames',
  MessageSystemAttributeName: 'MessageSystemAttributeNames',
  MessageAttributeName: 'MessageAttributeNames',
  TagKey: 'TagKeys',
  AWSAccountId: 'AWSAccountIds',
  ActionName: 'Actions',
  StringListValue: 'StringListValues',
  BinaryListValue: 'BinaryListValues',
};

/** Maps from names to values: `Attribute.1.Name` and `Attribute.1.Value`, or `.Key` for tags. */
const MAPS: Readonly<Record<string, { readonly name: string; readonly key: 'Name' | 'Key' }>> = {
  Attribute: { name: 'Attributes', key: 'Name' },
  MessageAttribute: { name: 'MessageAttributes', key: 'Name' },
  MessageSystemAttribute: { name: 'MessageSystemAttributes', key: 'Name' },
  Tag: { name: 'Tags', key: 'Key' },
};

const NUMBERS: ReadonlySet<string> = new Set([
  'DelaySeconds',
  'MaxNumberOfMessages',
  'MaxNumberOfMessagesPerSecond',
  'MaxResults',
  'VisibilityTimeout',
  'WaitTimeSeconds',
]);
const MAX_DEPTH = 8;

/** Converts parameters of the query protocol to the input of the same action in the JSON protocol. */
export function readForm(parameters: URLSearchParams, action: string): Input {
  const root: Tree = Object.create(null);
  for (const [name, value] of parameters) place(root, name, value);
  const input = toInput(root);
  const { Tags: tags, ...rest } = input;
  return action === 'CreateQueue' && tags !== undefined ? { ...rest, tags } : input;
}

function place(root: Tree, name: string, value: string): void {
  const parts = name.split('.');
  const last = parts.pop() ?? '';
  let node = root;
  for (const part of parts) {
    node[part] ??= Object.create(null) as Tree;
    const next = node[part];
    if (typeof next === 'string' || parts.length >= MAX_DEPTH) throw invalidParameter(name, value, 'Malformed name.');
    node = next;
  }
  if (typeof node[last] === 'object') throw invalidParameter(name, value, 'Malformed name.');
  node[last] = value;
}

function toInput(tree: Tree): Input {
  return Object.fromEntries(Object.entries(tree).map(([name, node]) => toMember(name, node)));
}

function toMember(name: string, node: Tree | string): [string, unknown] {
  const list = LISTS[name];
  if (list !== undefined) return [list, inOrder(node)];
  const map = MAPS[name];
  if (map !== undefined) return [map.name, Object.fromEntries(inOrder(node).map((item) => toPair(item, map.key)))];
  if (name.endsWith('BatchRequestEntry')) {
    return ['Entries', inOrder(node).map((entry) => (typeof entry === 'string' ? entry : toInput(entry)))];
  }
  if (typeof node !== 'string') return [name, toInput(node)];
  return [name, NUMBERS.has(name) && /^-?\d+(\.\d+)?$/.test(node) ? Number(node) : node];
}

/** Returns the items of a list in the order of their numbers; clients send an empty list as an empty value. */
function inOrder(node: Tree | string): (Tree | string)[] {
  if (typeof node === 'string') return node === '' ? [] : [node];
  const numbered = Object.entries(node).filter(([number]) => /^\d+$/.test(number));
  return numbered.sort(([one], [other]) => Number(one) - Number(other)).map(([, item]) => item);
}

function toPair(item: Tree | string, keyName: 'Name' | 'Key'): [string, unknown] {
  const { [keyName]: key, Value: value } = typeof item === 'string' ? {} : item;
  if (typeof key !== 'string') throw invalidParameter(keyName, key ?? '', 'Each item of a map must have one.');
  return [key, typeof value === 'object' ? toInput(value) : value];
}
