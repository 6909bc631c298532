import { expect, it } from 'vitest';
import { type Migration, readMigrations } from '../../core/postgres/migration-files.ts';
import { SHIPPED } from '../core/postgres/migrations-folder.ts';

/** Migrations of an empty database. Every later file runs on large tables in use. */
const FIRST_RELEASE = [
  ...['0001_foundation', '0002_handlers', '0003_jobs', '0004_history', '0005_numbers', '0006_enqueue', '0007_dispatch'],
  ...['0008_attempts', '0009_endings', '0010_cancel', '0011_redrive', '0012_upkeep', '0013_api'],
  ...['0014_schedules', '0015_follow_ups'],
];

const PLAIN_INDEX = /\bcreate\s+(?:unique\s+)?index\s+(?!concurrently\b)[^;]*?\bon\s+(?:only\s+)?millrace\.jobs\w*/gi;

/** Returns the indexes of a file whose build would block inserts. */
const plainIndexes = ({ sql }: Pick<Migration, 'sql'>) => sql.replaceAll(/--.*$/gm, '').match(PLAIN_INDEX) ?? [];

it.each([
  ['create index a on millrace.jobs_live (id);', 1],
  ['create unique index if not exists a\n  on millrace.jobs (id);', 1],
  ['CREATE INDEX ON ONLY millrace.jobs_finished_01 (id);', 1],
  ['create index concurrently if not exists a on millrace.jobs_live (id);', 0],
  ['create index a on millrace.dead_letters (id);', 0],
  ['-- create index a on millrace.jobs_live (id);', 0],
])('MIG-03: the rule detects %j', (sql, count) => {
  expect(plainIndexes({ sql })).toHaveLength(count);
});

it('MIG-03: no index of a file after the first release blocks inserts', () => {
  const files = readMigrations(SHIPPED);
  const [first, later] = [true, false].map((is) => files.filter(({ name }) => FIRST_RELEASE.includes(name) === is));

  expect(first!.map(({ name }) => name)).toEqual(FIRST_RELEASE);
  expect(first!.flatMap(plainIndexes).length).toBeGreaterThan(0);
  expect((later ?? []).flatMap((file) => plainIndexes(file).map((index) => `${file.name}: ${index}`))).toEqual([]);
});
