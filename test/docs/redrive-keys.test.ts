import { expect, it } from 'vitest';
import { createDatabase } from '../support/database.ts';
import { filterKeys } from './dead-letter-lines.ts';

it('docs/dead-letters.md lists the filter keys of millrace.start_redrive', async () => {
  const database = await createDatabase();
  const refusal = await database.pool.query(`select millrace.start_redrive('{"x": 1}')`).catch(String);
  await database.drop();

  const known = /the keys are (.*)/.exec(String(refusal))?.[1]?.split(/, | and /) ?? [];

  expect(filterKeys.toSorted()).toEqual(known.toSorted());
});
