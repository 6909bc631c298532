import fc from 'fast-check';
import { expect, it } from 'vitest';
import { deadLetterQueueName, handlerFile, handlerName, queueName, stageOf } from '../../../core/handler/naming.ts';

const word = fc.stringMatching(/^[a-z][a-z0-9_]{0,29}$/);
const address = fc.record({ jobType: word, routingKey: fc.oneof(fc.constant(''), word) });

it.each([
  [{ jobType: 'send_reminder', routingKey: '' }, 'send_reminder', 'millrace-dev-send_reminder', 'send-reminder.ts'],
  [
    { jobType: 'index_record', routingKey: 'full_text' },
    'index_record.full_text',
    'millrace-dev-index_record-full_text',
    'index-record.full-text.ts',
  ],
])('derives the names of %o', (handler, name, queue, file) => {
  expect(handlerName(handler)).toBe(name);
  expect(queueName('dev', handler)).toBe(queue);
  expect(deadLetterQueueName('dev', handler)).toBe(`${queue}-dlq`);
  expect(handlerFile(handler)).toBe(file);
});

it('derives different names for two handlers', () => {
  fc.assert(
    fc.property(address, address, (one, other) => {
      fc.pre(one.jobType !== other.jobType || one.routingKey !== other.routingKey);

      for (const nameOf of [handlerName, handlerFile, (handler: typeof one) => queueName('dev', handler)]) {
        expect(nameOf(one)).not.toBe(nameOf(other));
      }
    }),
  );
});

it('derives queue names that SQS accepts', () => {
  fc.assert(
    fc.property(address, (handler) => {
      fc.pre(handler.jobType.length + handler.routingKey.length <= 60);

      for (const name of [queueName('dev', handler), deadLetterQueueName('dev', handler)]) {
        expect(name).toMatch(/^[A-Za-z0-9_-]{1,80}$/);
      }
    }),
  );
});

it.each([
  [queueName('prod', { jobType: 'a_b', routingKey: 'c' }), 'prod'],
  ['lost-dlq', '<stage>'],
])('names the stage of the queue %s', (queue, stage) => {
  expect(stageOf(queue)).toBe(stage);
});
