import { ELASTICMQ_FAULTS } from './sqs-faults/elasticmq.ts';
import { FAUXQS_FAULTS } from './sqs-faults/fauxqs.ts';
import { LOCAL_AWS_SQS_FAULTS } from './sqs-faults/local-aws-sqs.ts';
import { MINISTACK_FAULTS } from './sqs-faults/ministack.ts';
import { MOTO_FAULTS } from './sqs-faults/moto.ts';

/** The behaviours in which other servers differ from SQS. A fault that a server no longer has fails the contract. */
export const KNOWN_FAULTS: Readonly<Record<string, readonly string[]>> = {
  elasticmq: ELASTICMQ_FAULTS,
  ministack: MINISTACK_FAULTS,
  moto: MOTO_FAULTS,
  fauxqs: FAUXQS_FAULTS,
  'local-aws-sqs': LOCAL_AWS_SQS_FAULTS,
};

/** Behaviours that sometimes pass and sometimes fail on a server, so the contract does not run them there. */
export const UNSETTLED: Readonly<Record<string, readonly string[]>> = {
  // It checks only at intervals whether the client is connected.
  ministack: ['a long poll of a disconnected client receives no message'],
  // It moves messages in the order of its receives, which is random.
  // A receive with a visibility timeout of 0 does not always move a message to the dead-letter queue.
  // Its number of delayed messages sometimes includes one that was sent just before, without a delay.
  'local-aws-sqs': [
    'each entry has its own delay and attributes',
    'a move starts with the oldest message, even after it was received and made visible',
    'retention in a dead-letter queue counts from the first send',
  ],
};
