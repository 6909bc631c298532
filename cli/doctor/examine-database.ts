import { functionName, handlerName } from '../../core/handler/naming.ts';
import { findUnhandled } from '../../core/jobs/die-unhandled.ts';
import { type CheckUp, checkUp } from '../../core/look/check-up.ts';
import type { Database } from '../../core/postgres/database.ts';
import { migrationStatus } from '../../core/postgres/migrate.ts';
import { registryDifferences } from '../../core/registry/differences.ts';
import { readRegistry } from '../../core/registry/read-registry.ts';
import type { ExpectedStage } from './expected-stage.ts';
import { clockOf, deadOf, dispatcherOf, FINE, type Finding, handlersOf, listed, unhandledOf } from './findings.ts';

/** The mirror looks at a queue every quarter of an hour at least. */
const MIRROR_LATE_SECONDS = 20 * 60;

/** Asks the database. */
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

/** What the database alone can tell. */
function hiddenOf({ unmirrored, overdueLeases }: CheckUp): Finding[] {
  const rescue = { ok: overdueLeases === 0, detail: `${overdueLeases} leases over and not rescued` };
  return [
    listed('queues that the mirror does not look into', unmirrored, 'look at the log of the dlq-mirror function'),
    { check: 'rescue', ...rescue, next: 'look at the log of the dispatcher function' },
  ];
}

/** What the database was told, against the code. */
export async function checkRegistry(db: Database, expected: ExpectedStage): Promise<Finding> {
  const { stage, address, catalog, deploy } = expected;
  const definitions = catalog.handlers.map(({ definition }) => definition);
  const write = `aws lambda invoke --function-name ${functionName(stage, 'registry')} /dev/stdout`;
  const next = address === undefined ? `${deploy}, or, where it finds no changes, ${write}` : deploy;
  return listed('registry', registryDifferences(stage, definitions, await readRegistry(db)), next, FINE);
}
