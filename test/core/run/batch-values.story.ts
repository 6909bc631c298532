import { expect, it } from 'vitest';
import { openDatabaseEngine } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine();

it('starts no job while a secret of the handler cannot be read, and uses no attempt', async () => {
  const { ids, records } = await engine.deliver(2);
  const readValues = () => Promise.reject(new Error('secret arn:…: cannot be read'));

  const { failed } = await engine.run(records, { deps: { readValues } });

  expect(failed).toHaveLength(2);
  expect(engine.runs).toEqual([]);
  const states = await Promise.all(ids.map((id) => engine.state(id)));
  expect(states.map(({ status, attempts }) => [status, attempts])).toEqual(Array(2).fill(['dispatched', 0]));
  const error = { message: 'secret arn:…: cannot be read' };
  expect(engine.lines.slice(1)).toMatchObject([{ level: 'error', event: 'batch_failed', error }]);
});

it('stores and logs the error of a job without the values of secrets', async () => {
  const { ids, records } = await engine.deliver(1);
  const redact = (text: string) => text.replaceAll('hunter2', '***');
  engine.work = ({ secrets }) => {
    throw new Error(`401 for ${secrets.API_TOKEN}`);
  };

  await engine.run(records, {
    deps: { readValues: async () => ({ settings: {}, secrets: { API_TOKEN: 'hunter2' }, redact }) },
  });

  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'failed', last_error: '401 for ***' });
  const attempts = await engine.sql('select * from millrace.job_attempts');
  expect(JSON.stringify([attempts, engine.lines])).not.toContain('hunter2');
});

it('reads secrets again for jobs that waited for the large payloads of others', async () => {
  const { records } = await engine.deliver(3, { payload: 'x'.repeat(1_000_000) });
  const seen: (string | undefined)[] = [];
  engine.work = ({ secrets }) => void seen.push(secrets.API_TOKEN);
  let reads = 0;
  const readValues = async () => ({ settings: {}, secrets: { API_TOKEN: `version ${++reads}` } });

  const { failed } = await engine.run(records, { deps: { readValues } });

  expect(failed).toEqual([]);
  expect(seen).toEqual(['version 1', 'version 1', 'version 2']);
});
