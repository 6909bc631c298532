import { SettingError } from '../../core/errors.ts';
import { messageOf } from '../../core/failure.ts';
import { openLog } from '../../core/log.ts';
import { openDatabase } from '../../core/postgres/database.ts';
import { readStage } from '../../core/registry/stage.ts';
import type { PostgresServer } from '../postgres/postgres.ts';
import { readVersion } from '../postgres/ready.ts';
import { withoutPassword } from '../screen/without-password.ts';
import { STAGE } from '../state.ts';

/** The Postgres server of a stack. */
export interface StackPostgres {
  current(): Pick<PostgresServer, 'url' | 'version'>;
  stop(): Promise<void>;
}

const OPTION = '--database-url';

/**
 * Uses a server that the stack neither starts nor stops. Creates its database if it does not exist.
 * @throws SettingError, and changes nothing, when the server does not answer, or when the database belongs to a
 *   deployment: the stack would replace its handlers and take its jobs.
 */
export async function givenPostgres(url: string): Promise<StackPostgres> {
  const shown = withoutPassword(url);
  const version = await readVersion(url).catch((error: unknown) => {
    throw refusal(`cannot connect to ${shown}: ${messageOf(error)}`);
  });
  const stage = await stageOf(url).catch((error: unknown) => {
    throw refusal(`cannot read to which stage ${shown} belongs: ${messageOf(error)}; use the login of its owner`);
  });
  if (stage !== undefined && stage !== STAGE) {
    throw refusal(
      `${shown} belongs to the stage ${stage}, whose jobs this stack would run with its own handlers: use another ` +
        `database. If this one is a copy, run npx millrace sql "select millrace.renew_epoch()" on it first`,
    );
  }
  return { current: () => ({ url, version }), stop: async () => undefined };
}

async function stageOf(connectionString: string): Promise<string | undefined> {
  const log = openLog(() => undefined);
  const db = openDatabase({ connectionString, max: 1, name: 'millrace-start', log });
  const home = await readStage(db).finally(() => db.close());
  return home?.stage;
}

function refusal(sentence: string): SettingError {
  return new SettingError(OPTION, '', undefined, `${OPTION}: ${sentence}`);
}
