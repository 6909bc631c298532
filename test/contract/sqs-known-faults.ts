import { ELASTICMQ_FAULTS } from './sqs-faults/elasticmq.ts';
import { FAUXQS_FAULTS } from './sqs-faults/fauxqs.ts';
import { LOCAL_AWS_SQS_FAULTS } from './sqs-faults/local-aws-sqs.ts';
import { MINISTACK_FAULTS } from './sqs-faults/ministack.ts';
import { MOTO_FAULTS } from './sqs-faults/moto.ts';

/** What other servers do otherwise than SQS, by the behaviour's name. A fault that goes away fails the contract. */
export const KNOWN_FAULTS: Readonly<Record<string, readonly string[]>> = {
  elasticmq: ELASTICMQ_FAULTS,
  ministack: MINISTACK_FAULTS,
  moto: MOTO_FAULTS,
  fauxqs: FAUXQS_FAULTS,
  'local-aws-sqs': LOCAL_AWS_SQS_FAULTS,
};

/** What comes out one way or the other on a server, so it can be neither demanded nor called a fault. */
export const UNSETTLED: Readonly<Record<string, readonly string[]>> = {
  // It looks for a hang-up only now and then.
  ministack: ['a long poll of a disconnected client receives no message'],
  // It moves in the order of its receives, which are at random.
  // Nor does a receive with a visibility timeout of 0 always bring a message to its dead-letter queue.
  'local-aws-sqs': [
    'a move starts with the oldest message, even after it was received and made visible',
    'retention in a dead-letter queue counts from the first send',
  ],
};
