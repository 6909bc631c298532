import catalog from '#definitions';
import { databaseSecret, deployedHome, listSetting, optionalSetting, setting } from '../core/config.ts';
import { processLog } from '../core/log.ts';
import { configuredAddress } from '../core/postgres/configured.ts';
import { openDatabase } from '../core/postgres/database.ts';
import type { DatabaseRole } from '../core/postgres/ensure-login.ts';
import { readCredentials } from '../core/postgres/secrets.ts';
import { databaseIdentity, judgeRequest } from '../core/registry/database-move.ts';
import { runStep, type StepAnswer, type StepRequest } from '../core/registry/deploy-step.ts';
import { type DeployedLogin, prepareDatabase } from '../core/registry/prepare.ts';

const home = deployedHome();
const takeOver = optionalSetting('MILLRACE_TAKE_OVER');
const folder = setting('MILLRACE_MIGRATIONS', 'the folder of the SQL files');
const runtimeSecret = setting('MILLRACE_RUNTIME_SECRET', 'the ARN of the secret of the functions');
const appSecret = optionalSetting('MILLRACE_APP_SECRET');
const drain = listSetting('MILLRACE_DRAIN');
const address = configuredAddress();
const identity = databaseIdentity({ arn: '', ...databaseSecret() });
const db = openDatabase({ ...address, max: 1, name: 'millrace-migrate', log: processLog });

/** The Lambda that a deployment runs before all others. It logs in as the owner of the database. */
export const handler = (request: StepRequest | null): Promise<StepAnswer> =>
  runStep(async () => {
    const { prepares, answer } = judgeRequest(request ?? {}, identity, home.stage);
    if (prepares) await prepare();
    return answer;
  });

async function prepare(): Promise<void> {
  const logins = [await readLogin(runtimeSecret, 'millrace_runtime')];
  if (appSecret !== undefined) logins.push(await readLogin(appSecret, 'millrace_app'));
  const migration = { ...address, folder };
  await prepareDatabase({ db, home, takeOver, migration, logins, catalog, drain, log: processLog });
}

async function readLogin(secret: string, role: DatabaseRole): Promise<DeployedLogin> {
  const { user, password } = await readCredentials(secret);
  return { name: user, password, role };
}
