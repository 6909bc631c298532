import { MigrationError, RegistryError } from '../errors.ts';
import { messageOf } from '../failure.ts';
import type { Database, Queryable } from '../postgres/database.ts';
import { errorCode, migrationHint } from '../postgres/statement-errors.ts';

/** A stage, and where it is deployed. The stack on one machine has no account and no region. */
export interface Home {
  readonly stage: string;
  readonly account?: string | undefined;
  readonly region?: string | undefined;
}

type Row = { readonly [Name in keyof Required<Home>]: string | null };

const ASSIGN_STAGE = `select stage, account, region from millrace.assign_stage($1, $2, $3)`;
const READ_STAGE = `select stage, account, region from millrace.installation`;
const LOCK_STAGE = `select stage, account, region from millrace.installation for update`;
const RENEW_EPOCH = `select millrace.renew_epoch()`;
/** The schema, the table or the column is missing. */
const NOT_MIGRATED = new Set(['3F000', '42P01', '42703']);
const NO_RIGHTS = '42501';

/**
 * Assigns the database to a stage, if it belongs to none.
 * @throws RegistryError when it belongs to another stage, or to this one in another account or region.
 */
export async function assignStage(tx: Queryable, home: Home): Promise<void> {
  const { stage, account = null, region = null } = home;
  const { rows } = await tx.query<Row>(ASSIGN_STAGE, [stage, account, region]);
  refuseOther(home, toHome(rows[0]));
}

/** Returns to which stage a database belongs; undefined if it belongs to none or lacks the migrations. */
export async function readStage(db: Queryable): Promise<Home | undefined> {
  const { rows } = await db.query<Row>(READ_STAGE).catch((error: unknown) => {
    if (NOT_MIGRATED.has(errorCode(error) ?? '')) return { rows: [] };
    throw error;
  });
  return toHome(rows[0]);
}

function toHome(row: Row | undefined): Home | undefined {
  if (row === undefined || row.stage === null) return undefined;
  return { stage: row.stage, account: row.account ?? undefined, region: row.region ?? undefined };
}

/**
 * Checks to which stage a database belongs, which may lack migrations; changes nothing.
 * @param takeOver the stage from which this deployment takes the database
 * @throws RegistryError when the database belongs to another stage; MigrationError when it cannot be read.
 */
export async function checkStage(db: Queryable, home: Home, takeOver?: string): Promise<void> {
  const owner = await readStage(db).catch((error: unknown) => {
    // The login gets its rights from the migrations.
    if (errorCode(error) === NO_RIGHTS) return undefined;
    // The first statement of a deployment: it states what to do about an unreachable database.
    throw new MigrationError(`the stage cannot be read: ${messageOf(error)}${migrationHint(error)}`, { cause: error });
  });
  if (owner?.stage !== takeOver) refuseOther(home, owner);
}

/**
 * Assigns the database to a stage, also if it belongs to the stage `takeOver`. It then gets a new epoch, so that it
 * accepts no message that the other stage sent.
 * @throws RegistryError as `assignStage`
 */
export async function takeStage(db: Database, home: Home, takeOver: string | undefined): Promise<void> {
  await db.transaction(async (tx) => {
    const { rows } = await tx.query<Row>(LOCK_STAGE);
    const owner = toHome(rows[0]);
    if (owner !== undefined && owner.stage === takeOver && !isSame(home, owner)) await tx.query(RENEW_EPOCH);
    await assignStage(tx, home);
  });
}

/** A database of an earlier deployment may not know the account and region. */
function isSame(home: Home, owner: Home): boolean {
  const isAt = owner.account === undefined || (owner.account === home.account && owner.region === home.region);
  return owner.stage === home.stage && isAt;
}

/** Returns `prod in the account 123456789012 and region eu-west-1`. */
export function homeText({ stage, account, region }: Home): string {
  return account === undefined ? stage : `${stage} in the account ${account} and region ${region}`;
}

function refuseOther(home: Home, owner: Home | undefined): void {
  if (owner === undefined || isSame(home, owner)) return;
  const { stage } = home;
  throw new RegistryError(
    `this database belongs to the stage ${homeText(owner)}, and a deployment of ${homeText(home)} would replace its ` +
      `handlers: give ${stage} a database of its own. If this one is a copy, or ${owner.stage} no longer uses it, ` +
      `deploy with -c stage=${stage} -c takeOver=${owner.stage}, or run ` +
      'npx millrace sql "select millrace.renew_epoch()" and deploy again',
  );
}
