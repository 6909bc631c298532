import type { Broker } from '../broker/broker.ts';
import { invalidParameter, missingParameter } from '../errors.ts';
import type { Queue } from '../queue/queue.ts';
import { readSettings } from '../queue/queue-settings.ts';
import { type Action, readQueue, readStrings, requireString } from './input.ts';

const LABEL = /^[A-Za-z0-9_-]{1,80}$/;

interface Statement {
  readonly Sid?: string;
}

interface Policy {
  readonly Version: string;
  readonly Id?: string;
  readonly Statement: readonly Statement[];
}

/** Permissions are kept in the queue's Policy and shown there; nothing is enforced by them. */
export const addPermission: Action = (broker, input) => {
  const queue = readQueue(broker, input);
  const label = requireString(input, 'Label');
  const accounts = readStrings(input, 'AWSAccountIds');
  const actions = readStrings(input, 'Actions');
  if (accounts.length === 0) throw missingParameter('AWSAccountIds');
  if (actions.length === 0) throw missingParameter('Actions');
  if (!LABEL.test(label)) throw invalidParameter('Label', label, 'A label is 1 to 80 letters, digits, - and _.');
  const policy = readPolicy(queue);
  if (policy.Statement.some(({ Sid }) => Sid === label)) throw invalidParameter('Label', label, 'Already exists.');

  const statement = {
    Sid: label,
    Effect: 'Allow',
    Principal: { AWS: accounts.map((account) => `arn:aws:iam::${account}:root`) },
    Action: actions.map((action) => `SQS:${action}`),
    Resource: queue.arn,
  };
  return writePolicy(broker, queue, { ...policy, Statement: [...policy.Statement, statement] });
};

export const removePermission: Action = (broker, input) => {
  const queue = readQueue(broker, input);
  const label = requireString(input, 'Label');
  const policy = readPolicy(queue);
  const rest = policy.Statement.filter(({ Sid }) => Sid !== label);
  if (rest.length === policy.Statement.length) throw invalidParameter('Label', label, "Can't find label.");
  return writePolicy(broker, queue, { ...policy, Statement: rest });
};

function readPolicy(queue: Queue): Policy {
  const text = queue.settings.attributes.Policy;
  if (text === undefined) return { Version: '2008-10-17', Id: `${queue.arn}/SQSDefaultPolicy`, Statement: [] };
  const policy = JSON.parse(text) as Policy;
  return { ...policy, Statement: Array.isArray(policy.Statement) ? policy.Statement : [] };
}

function writePolicy(broker: Broker, queue: Queue, policy: Policy): object {
  const text = policy.Statement.length === 0 ? '' : JSON.stringify(policy);
  queue.settings = readSettings({ ...queue.settings.attributes, Policy: text }, queue.settings.fifo);
  queue.modifiedAt = broker.now();
  broker.journal.queue(queue);
  return {};
}
