import catalog from '#definitions';
import { configuredAddress } from '../core/aws/configured.ts';
import { databaseSecret, deployedHome, listSetting, optionalSetting, setting } from '../core/config.ts';
import { processLog } from '../core/log.ts';
import { openDatabase } from '../core/postgres/database.ts';
import type { DatabaseRole, WantedLogin } from '../core/postgres/ensure-login.ts';
import { readCredentials } from '../core/postgres/secrets.ts';
import { databaseIdentity, judgeRequest } from '../core/registry/database-move.ts';
import { runStep, type StepAnswer, type StepRequest } from '../core/registry/deploy-step.ts';
import { prepareDatabase } from '../core/registry/prepare.ts';

const home = deployedHome();
const takeOver = optionalSetting('MILLRACE_TAKE_OVER');
const folder = setting('MILLRACE_MIGRATIONS', 'the folder of the SQL files');
/** The login of the functions, if IAM authenticates it. */
const runtimeUser = optionalSetting('MILLRACE_RUNTIME_USER');
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
  const logins = [await runtimeLogin()];
  if (appSecret !== undefined) logins.push(await readLogin(appSecret, 'millrace_app'));
  const migration = { ...address, folder };
  await prepareDatabase({ db, home, takeOver, migration, logins, catalog, drain, log: processLog });
}

async function runtimeLogin(): Promise<WantedLogin> {
  if (runtimeUser !== undefined) return { name: runtimeUser, role: 'millrace_runtime' };
  const secret = setting('MILLRACE_RUNTIME_SECRET', 'the ARN of the secret of the functions');
  return readLogin(secret, 'millrace_runtime');
}

async function readLogin(secret: string, role: DatabaseRole): Promise<WantedLogin> {
  const { user, password } = await readCredentials(secret);
  return { name: user, password, role };
}
