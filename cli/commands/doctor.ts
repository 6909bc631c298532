import type { Command } from 'commander';
import type { Database } from '../../core/database.ts';
import { type CheckUp, checkUp } from '../../core/jobs/check-up.ts';
import { findUnhandled } from '../../core/jobs/unhandled.ts';
import { migrationStatus } from '../../core/migrate.ts';
import { handlerName } from '../../core/naming.ts';
import { action, examples } from '../action.ts';
import { checkDeployment, checkRegistry } from '../check-deployment.ts';
import { type Deployment, type DoctorOptions, findDeployment, knowsDatabase } from '../deployment.ts';
import { EXIT } from '../exit-code.ts';
import { type Finding, listed } from '../finding.ts';
import { toJson } from '../json.ts';
import { withDatabase } from '../target.ts';
import { print, printRows, suggest, warn } from '../terminal.ts';

/** Two ticks of the schedule can be 119 s apart. */
const DISPATCHER_LATE_SECONDS = 120;
/** The mirror looks at a queue every quarter of an hour at least. */
const MIRROR_LATE_SECONDS = 20 * 60;
const CLOCK_APART_MS = 5_000;

/** `millrace doctor` */
export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description(
      'look for what keeps jobs from running, and for what is not as the code says; exit code 8 if there is any',
    )
    .option('--stage <name>', 'what is deployed on AWS under this name, with the credentials of the environment')
    .addHelpText('before', examples('doctor', 'doctor --json', 'doctor --stage prod --database-url postgres://…'))
    .action(
      action(async (options: DoctorOptions) => {
        const findings = await examine(options);
        const wrong = findings.filter(({ ok }) => !ok);
        if (options.json) print(toJson({ checks: findings }));
        else
          printRows(
            ['', 'CHECK', 'FOUND'],
            findings.map(({ check, ok, detail, next }) => [
              ok ? 'OK' : 'FAIL',
              check,
              ok || next === undefined ? detail : `${detail}: ${next}`,
            ]),
          );
        const next = wrong.find((finding) => finding.next !== undefined)?.next;
        if (next !== undefined) suggest(next);
        return wrong.length > 0 ? EXIT.checkFailed : EXIT.done;
      }),
    );
}

async function examine(options: DoctorOptions): Promise<Finding[]> {
  const deployment = await findDeployment(options);
  const known = knowsDatabase(options);
  if (!known) warn('the database is not looked at: name it with --database-url');
  const stored = known ? await withDatabase(options, (db) => examineDatabase(db, deployment)) : [];
  return [...stored, ...(deployment === undefined ? [] : await checkDeployment(deployment))];
}

async function examineDatabase(db: Database, deployment: Deployment | undefined): Promise<Finding[]> {
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
  const registry = deployment === undefined ? [] : [await checkRegistry(db, deployment)];
  const standing = [...handlersOf(found), ...registry, none(unhandled), ...deadOf(found)];
  return [schema, clockOf(found), dispatcherOf(found), ...standing];
}

function clockOf({ now }: CheckUp): Finding {
  const apart = Math.abs(Date.now() - now.getTime());
  return { check: 'clock', ok: apart < CLOCK_APART_MS, detail: `${apart} ms between this machine and the database` };
}

function dispatcherOf({ dispatcherSilentFor: silent }: CheckUp): Finding {
  const detail = silent === null ? 'never made a round' : `last round ${Math.round(silent)} s ago`;
  const ok = silent !== null && silent < DISPATCHER_LATE_SECONDS;
  return { check: 'dispatcher', ok, detail, next: 'look at the log and the schedule of the dispatcher function' };
}

function handlersOf({ handlers, paused, held }: CheckUp): Finding[] {
  return [
    { check: 'handlers', ok: handlers > 0, detail: `${handlers} deployed`, next: 'npx millrace handlers' },
    listed('paused handlers', paused, `npx millrace handlers resume ${paused.join(' ')}`),
    listed('held handlers', held, 'npx millrace handlers'),
  ];
}

function none(unhandled: readonly string[]): Finding {
  return listed('jobs without a handler', unhandled, 'deploy a handler of that name, or cancel the jobs');
}

function deadOf({ unmirrored, overdueLeases, deadLetters }: CheckUp): Finding[] {
  const rescue = { ok: overdueLeases === 0, detail: `${overdueLeases} leases over and not rescued` };
  return [
    listed('queues that the mirror does not look into', unmirrored, 'look at the log of the dlq-mirror function'),
    { check: 'rescue', ...rescue, next: 'look at the log of the dispatcher function' },
    { check: 'dead letters', ok: deadLetters === 0, detail: `${deadLetters} open`, next: 'npx millrace dlq' },
  ];
}
