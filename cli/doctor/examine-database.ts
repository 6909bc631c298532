import { functionName, handlerName } from '../../core/handler/naming.ts';
import { findUnhandled } from '../../core/jobs/die-unhandled.ts';
import { type CheckUp, checkUp } from '../../core/look/check-up.ts';
import type { Database } from '../../core/postgres/database.ts';
import { migrationStatus } from '../../core/postgres/migrate.ts';
import { registryDifferences } from '../../core/registry/differences.ts';
import { readRegistry } from '../../core/registry/read-registry.ts';
import type { ExpectedStage } from './expected-stage.ts';
import { clockOf, deadOf, dispatcherOf, FINE, type Finding, handlersOf, listed, unhandledOf } from './findings.ts';

/** The mirror sweeps each queue at least every 15 minutes. */
const MIRROR_LATE_SECONDS = 20 * 60;

/** Runs the checks that query the database. */
export async function examineDatabase(db: Database, expected: ExpectedStage | undefined): Promise<Finding[]> {
  const migrations = await migrationStatus(db);
  const bad = migrations.filter(({ state }) => state !== 'applied' && state !== 'ahead');
  const schema: Finding = {
    check: 'schema',
    ok: bad.length === 0,
    detail:
      bad.length === 0 ? `${migrations.length} migrations` : bad.map(({ name, state }) => `${name} ${state}`).join(),
    next: 'npx millrace migrate',
  };
  if (!schema.ok) return [schema];
  const unhandled = (await findUnhandled(db)).map(handlerName);
  const found = await checkUp(db, MIRROR_LATE_SECONDS);
  const registry = expected === undefined ? [] : [await checkRegistry(db, expected)];
  const standing = [...handlersOf(found), ...registry, unhandledOf(unhandled), ...hiddenOf(found)];
  return [schema, clockOf(found.now), dispatcherOf(found.dispatcherSilentFor), ...standing, deadOf(found.deadLetters)];
}

/** Returns the findings that only the database provides. */
function hiddenOf({ unmirrored, overdueLeases }: CheckUp): Finding[] {
  const rescue = { ok: overdueLeases === 0, detail: `${overdueLeases} expired leases not rescued` };
  return [
    listed('queues that the mirror does not sweep', unmirrored, 'check the log of the dlq-mirror function'),
    { check: 'rescue', ...rescue, next: 'check the log of the dispatcher function' },
  ];
}

/** Compares the registry in the database with the code. */
export async function checkRegistry(db: Database, expected: ExpectedStage): Promise<Finding> {
  const { stage, address, catalog, deploy } = expected;
  const definitions = catalog.handlers.map(({ definition }) => definition);
  const write = `aws lambda invoke --function-name ${functionName(stage, 'registry')} /dev/stdout`;
  const next = address === undefined ? `${deploy}; if that finds no changes, ${write}` : deploy;
  return listed('registry', registryDifferences(stage, definitions, await readRegistry(db)), next, FINE);
}
