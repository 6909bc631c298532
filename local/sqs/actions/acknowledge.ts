import type { Broker } from '../broker/broker.ts';
import { missingParameter } from '../errors.ts';
import { readReceiptHandle } from '../message/receipt-handle.ts';
import type { Queue } from '../queue/queue.ts';
import { changeVisibility, deleteMessage } from '../queue/queue-operations.ts';
import { readEntries, runEntries } from './batch.ts';
import { type Action, type Input, readInteger, readQueue } from './input.ts';

/** What a consumer does with a message in flight: delete it, or change how long it stays hidden. */
type Acknowledgement = (broker: Broker, queue: Queue, input: Input) => object;

const remove: Acknowledgement = (broker, queue, input) => {
  deleteMessage(queue, readReceiptHandle(queue.name, input.ReceiptHandle), broker.now());
  return {};
};

const changeHiding: Acknowledgement = (broker, queue, input) => {
  const receipt = readReceiptHandle(queue.name, input.ReceiptHandle);
  const seconds = readInteger(input, 'VisibilityTimeout', 0, 43_200);
  if (seconds === undefined) throw missingParameter('VisibilityTimeout');
  changeVisibility(queue, receipt, seconds * 1000, broker.now());
  return {};
};

function single(acknowledge: Acknowledgement): Action {
  return (broker, input) => {
    const queue = readQueue(broker, input);
    const answer = acknowledge(broker, queue, input);
    broker.polls.poke(queue);
    return answer;
  };
}

function batch(acknowledge: Acknowledgement): Action {
  return (broker, input) => {
    const queue = readQueue(broker, input);
    const result = runEntries(readEntries(input), (entry) => acknowledge(broker, queue, entry.input));
    broker.polls.poke(queue);
    return result;
  };
}

export const deleteMessageAction = single(remove);
export const deleteMessageBatch = batch(remove);
export const changeMessageVisibility = single(changeHiding);
export const changeMessageVisibilityBatch = batch(changeHiding);
