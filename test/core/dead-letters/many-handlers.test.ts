import { expect, it } from 'vitest';
import { groupDeadLetters, showGroup } from '../../../core/dead-letters/group-dead-letters.ts';
import { previewRedrive } from '../../../core/dead-letters/preview-redrive.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine();

const INSERT = `insert into millrace.dead_letters (claim_no, last_error, fingerprint, job_id, job_type, routing_key)`;

it.each([
  ['job types', `select n, 'no', 'f', n, 'typo_' || n, '' from generate_series(1, 3000) n`],
  ['routing keys', `select n, 'no', 'f', n, 'work', 'k' || n from generate_series(1, 3000) n`],
  ['job types with routing keys', `select n, 'no', 'f', n, 'typo_' || n, 'k' || n from generate_series(1, 3000) n`],
])('names few of many %s of dead letters without a handler', async (_what, letters) => {
  await engine.sql(`${INSERT} ${letters}`);
  await engine.sql(`${INSERT} select n, 'no', 'f', n, 'work', '' from generate_series(3001, 3005) n`);

  const preview = await previewRedrive(engine.db, {});
  const [group] = await groupDeadLetters(engine.db, {}, 10);
  const shown = await showGroup(engine.db, 'f');

  const jobs = (verdict: string) =>
    preview.filter((one) => one.verdict === verdict).reduce((sum, one) => sum + one.jobs, 0);
  expect([jobs('movable'), jobs('no_handler')]).toEqual([5, 3000]);
  expect(preview.find(({ jobType }) => jobType === '_other')?.jobs).toBe(2900);
  expect([preview.length, group?.handlers.length, shown?.handlers.length]).toEqual([102, 100, 100]);
  expect([group?.jobs, shown?.jobs]).toEqual([3005, 3005]);
});
