import { HandlerRemoval } from '../errors.ts';
import type { DefinitionData } from '../handler/definition.ts';
import { deadLetterQueueName, handlerName, queueName } from '../handler/naming.ts';
import type { Log } from '../log.ts';
import type { Database } from '../postgres/database.ts';
import { ensureLogin, type WantedLogin } from '../postgres/ensure-login.ts';
import { type MigrateOptions, migrate } from '../postgres/migrate.ts';
import { findAbandoned } from './abandoned.ts';
import { isFresh, keepApart } from './other-stages.ts';
import { registerHandlers } from './register-handlers.ts';
import { changeText, checkSchedules } from './register-schedules.ts';
import { checkStage, type Home, takeStage } from './stage.ts';

export interface Preparation {
  /** Database with the rights of the owner. */
  readonly db: Database;
  readonly home: Home;
  /** The stage from which this deployment takes the database. */
  readonly takeOver?: string | undefined;
  readonly migration: MigrateOptions;
  /** The logins that the deployment creates. */
  readonly logins: readonly WantedLogin[];
  /** All handlers of the release. */
  readonly catalog: readonly DefinitionData[];
  /** Names of handlers that may be removed with unfinished jobs, which then wait for the handler. */
  readonly drain: readonly string[];
  readonly log: Log;
}

/**
 * Prepares the database before the rest of a deployment: migrations, removed handlers and logins. Idempotent.
 * @throws RegistryError when the database belongs to another stage, or a schedule has a name that is in use.
 * @throws HandlerRemoval when a removed handler has unfinished jobs and is not in `drain`.
 */
export async function prepareDatabase(preparation: Preparation): Promise<void> {
  const { db, home, takeOver, migration, logins, catalog, drain, log } = preparation;
  await checkStage(db, home, takeOver);
  const fresh = await isFresh(db);
  const { applied, ahead } = await migrate({ ...migration, log });
  if (ahead.length > 0) log.warn('migrations_ahead', { migrations: ahead });
  await checkSchedules(db, catalog);
  const abandoned = (await findAbandoned(db, catalog)).map((one) => ({ ...one, handler: handlerName(one) }));
  const refused = abandoned.filter(({ handler }) => !drain.includes(handler));
  if (refused.length > 0) throw new HandlerRemoval(home.stage, refused);
  for (const login of logins) await ensureLogin(db, login);
  const names = logins.map(({ name }) => name);
  const { owners, remedy } = await keepApart(db, names, fresh);
  if (owners.length > 0) log.warn('database_shared', { logins: owners.join(', '), reason: remedy });
  // Last: a deployment that is refused takes no database.
  await takeStage(db, home, takeOver);
  log.info('database_prepared', { applied: applied.length, logins: names.join(', ') });
}

export interface RegistryTarget {
  readonly home: Home;
  /** The URL of every queue, without the name at its end. */
  readonly queueUrlPrefix: string;
  readonly log: Log;
}

/** Writes this release's handlers to the registry; a rollback writes those of the earlier release again. */
export async function writeRegistry(
  db: Database,
  catalog: readonly DefinitionData[],
  { home, queueUrlPrefix, log }: RegistryTarget,
): Promise<void> {
  const { stage } = home;
  const deployed = catalog.map((definition) => ({
    definition,
    queueUrl: queueUrlPrefix + queueName(stage, definition),
    deadLetterQueueUrl: queueUrlPrefix + deadLetterQueueName(stage, definition),
    functionName: queueName(stage, definition),
  }));
  const onWaiting = (reason: string) => log.warn('registry_waiting', { reason });
  const changes = await registerHandlers({ db, ...home, onWaiting }, deployed);
  if (changes.length > 0) log.info('schedules_deployed', { schedules: changes.map(changeText).join(', ') });
}
