import { optionalSetting } from '../../core/config.ts';
import { functionName, handlerName } from '../../core/handler/naming.ts';
import { findUnhandled } from '../../core/jobs/die-unhandled.ts';
import {
  countOpenDeadLetters,
  countOverdueLeases,
  findLateHandlers,
  findUnmirrored,
  readHandlerStates,
  readRounds,
} from '../../core/look/check-up.ts';
import { countSchedules } from '../../core/numbers/count-schedules.ts';
import { readThroughput } from '../../core/numbers/stats.ts';
import type { Database } from '../../core/postgres/database.ts';
import { migrationStatus } from '../../core/postgres/migrate.ts';
import { declaredDifferences } from '../../core/registry/declared-differences.ts';
import { registryDifferences } from '../../core/registry/differences.ts';
import { findOtherStages } from '../../core/registry/other-stages.ts';
import { readRegistry } from '../../core/registry/read-registry.ts';
import { homeText, readStage } from '../../core/registry/stage.ts';
import { attemptCheck } from './attempt-check.ts';
import type { ExpectedStage } from './expected-stage.ts';
import {
  clockOf,
  deadOf,
  dispatcherOf,
  FINE,
  type Finding,
  failuresOf,
  handlersOf,
  LATE_SECONDS,
  lateOf,
  listed,
  schedulesOf,
  unhandledOf,
} from './findings.ts';

/** The mirror sweeps each queue at least every 15 minutes. */
const MIRROR_LATE_SECONDS = 20 * 60;

/** Runs the checks that query the database, until the connection fails. */
export async function* examineDatabase(db: Database, expected: ExpectedStage | undefined): AsyncGenerator<Finding> {
  const schema = await attemptCheck('schema', () => checkSchema(db));
  yield* schema;
  // The other checks would fail because tables are missing.
  if (schema.some(({ next }) => next === MIGRATE)) return;
  for (const [check, look] of checksOf(db, expected)) yield* await attemptCheck(check, look);
}

type Check = readonly [check: string, look: () => Promise<Finding | readonly Finding[]>];

function checksOf(db: Database, expected: ExpectedStage | undefined): Check[] {
  return [
    [
      'dispatcher',
      async () => {
        const { now, dispatcherSilentFor } = await readRounds(db);
        return [clockOf(now), dispatcherOf(dispatcherSilentFor)];
      },
    ],
    ['handlers', async () => handlersOf(await readHandlerStates(db))],
    ...(expected === undefined
      ? []
      : ([
          ['stage', () => checkHome(db, expected)],
          ['registry', () => checkRegistry(db, expected)],
          // The stack on one machine has no deployment that makes logins.
          ...(expected.address === undefined ? [['other stages', () => checkApart(db, expected)] as const] : []),
        ] as const)),
    ['late jobs', async () => lateOf(await findLateHandlers(db, LATE_SECONDS))],
    ['schedules', async () => schedulesOf(await countSchedules(db))],
    ['failed attempts', async () => failuresOf(await readThroughput(db))],
    ['jobs without a handler', async () => unhandledOf((await findUnhandled(db)).map(handlerName))],
    ['queues that the mirror does not sweep', () => checkMirror(db)],
    ['rescue', () => checkRescue(db)],
    ['dead letters', async () => deadOf(await countOpenDeadLetters(db))],
  ];
}

const MIGRATE = 'npx millrace migrate';

async function checkSchema(db: Database): Promise<Finding> {
  const migrations = await migrationStatus(db);
  const bad = migrations.filter(({ state }) => state !== 'applied' && state !== 'ahead');
  const detail =
    bad.length === 0 ? `${migrations.length} migrations` : bad.map(({ name, state }) => `${name} ${state}`).join();
  return { check: 'schema', ok: bad.length === 0, detail, ...(bad.length > 0 && { next: MIGRATE }) };
}

async function checkMirror(db: Database): Promise<Finding> {
  const unmirrored = await findUnmirrored(db, MIRROR_LATE_SECONDS);
  return listed('queues that the mirror does not sweep', unmirrored, 'check the log of the dlq-mirror function');
}

async function checkRescue(db: Database): Promise<Finding> {
  const overdue = await countOverdueLeases(db);
  const detail = `${overdue} expired leases not rescued`;
  return { check: 'rescue', ok: overdue === 0, detail, next: 'check the log of the dispatcher function' };
}

/** Checks that the database belongs to the stage, in the region of the environment if that names one. */
export async function checkHome(db: Database, { stage, address, deploy }: ExpectedStage): Promise<Finding> {
  const owner = await readStage(db);
  const region = address === undefined ? optionalSetting('AWS_REGION') : undefined;
  const isThere = region === undefined || owner?.region === undefined || owner.region === region;
  const detail = `the database belongs to ${owner === undefined ? 'no stage' : homeText(owner)}`;
  const next = owner === undefined ? deploy : 'use the database, the region and the account of one stage';
  return { check: 'stage', ok: owner?.stage === stage && isThere, detail, next };
}

/** Checks that logins of other stages on the server cannot use the database. */
export async function checkApart(db: Database, { stage }: ExpectedStage): Promise<Finding> {
  const { users, owners, remedy } = await findOtherStages(db);
  const wrong = [...users, ...owners].map((login) => `${login} can use this database`);
  const next = users.length > 0 ? `deploy ${stage} again` : `as the owner of the database, run ${remedy}`;
  return listed('other stages', wrong, next, 'no login of another stage can use this database');
}

/** Compares the registry in the database with the code. */
export async function checkRegistry(db: Database, expected: ExpectedStage): Promise<Finding> {
  const { stage, address, catalog, deploy } = expected;
  const definitions = catalog.handlers.map(({ definition }) => definition);
  const write = `aws lambda invoke --function-name ${functionName(stage, 'registry')} /dev/stdout`;
  const next = address === undefined ? `${deploy}; if that finds no changes, ${write}` : deploy;
  const handlers = registryDifferences(stage, definitions, await readRegistry(db));
  const schedules = await declaredDifferences(db, definitions);
  return listed('registry', [...handlers, ...schedules.map((line) => `schedule ${line}`)], next, FINE);
}
