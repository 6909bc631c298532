import { MigrationError, RegistryError } from '../errors.ts';
import { messageOf } from '../failure.ts';
import type { Queryable } from '../postgres/database.ts';
import { errorCode, migrationHint } from '../postgres/statement-errors.ts';

const ASSIGN_STAGE = `select millrace.assign_stage($1) as stage`;
const READ_STAGE = `select stage from millrace.installation`;
/** The schema, the table or the column is missing. */
const NOT_MIGRATED = new Set(['3F000', '42P01', '42703']);
const NO_RIGHTS = '42501';

/**
 * Assigns the database to a stage, if it belongs to none.
 * @throws RegistryError when it belongs to another stage.
 */
export async function assignStage(tx: Queryable, stage: string): Promise<void> {
  const { rows } = await tx.query<{ stage: string }>(ASSIGN_STAGE, [stage]);
  refuseOther(stage, rows[0]?.stage);
}

/** Returns the stage to which a database belongs; undefined if it belongs to none or lacks the migrations. */
export async function readStage(db: Queryable): Promise<string | undefined> {
  const { rows } = await db.query<{ stage: string | null }>(READ_STAGE).catch((error: unknown) => {
    if (NOT_MIGRATED.has(errorCode(error) ?? '')) return { rows: [] };
    throw error;
  });
  return rows[0]?.stage ?? undefined;
}

/**
 * Checks the stage of a database, which may lack migrations; changes nothing.
 * @throws RegistryError when the database belongs to another stage; MigrationError when it cannot be read.
 */
export async function checkStage(db: Queryable, stage: string): Promise<void> {
  const owner = await readStage(db).catch((error: unknown) => {
    // The login gets its rights from the migrations.
    if (errorCode(error) === NO_RIGHTS) return undefined;
    // The first statement of a deployment: it states what to do about an unreachable database.
    throw new MigrationError(`the stage cannot be read: ${messageOf(error)}${migrationHint(error)}`, { cause: error });
  });
  refuseOther(stage, owner);
}

function refuseOther(stage: string, owner: string | undefined): void {
  if (owner === undefined || owner === stage) return;
  throw new RegistryError(
    `this database belongs to the stage ${owner}, and a deployment of ${stage} would replace its handlers: give ` +
      `${stage} a database of its own. If this one is a copy, or ${owner} has moved to another database, run ` +
      'npx millrace sql "select millrace.renew_epoch()", then deploy again',
  );
}
