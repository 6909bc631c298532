import { expect, it } from 'vitest';
import { Snooze } from '../../../core/handler/chosen-outcome.ts';
import { openDatabaseEngine, QUEUE } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine();

/** Runs the job that is due, which ends by throwing. */
async function runDue(thrown: Error): Promise<void> {
  engine.work = () => Promise.reject(thrown);
  await engine.advance(3_600);
  await engine.dispatch();
  await engine.run(engine.queues.receive(QUEUE, 10));
}

it('keeps the last failure of a job that is snoozed, and the reason of the snooze in its history', async () => {
  const id = await engine.enqueue();
  await runDue(new Snooze('1m', 'not open yet'));
  const before = await engine.state(id);
  await runDue(new Error('the partner returned 500'));
  await runDue(new Snooze('1m', 'circuit open'));

  const after = await engine.state(id);
  const history = await engine.sql('select outcome, error_message as message from millrace.job_attempts order by id');

  expect(before).toMatchObject({ status: 'pending', last_error: null });
  expect(after).toMatchObject({ status: 'pending', last_error: 'the partner returned 500' });
  expect(history).toEqual([
    { outcome: 'snoozed', message: 'not open yet' },
    { outcome: 'failed', message: 'the partner returned 500' },
    { outcome: 'snoozed', message: 'circuit open' },
  ]);
});
