import catalog from '#catalog';
import { listSetting, optionalSetting, setting } from '../core/config.ts';
import { configuredAddress, openConfiguredDatabase } from '../core/configured-database.ts';
import { prepareDatabase } from '../core/deployment.ts';
import { processLog } from '../core/log.ts';
import { readCredentials } from '../core/secrets.ts';

const folder = setting('MILLRACE_MIGRATIONS', 'the folder of the SQL files');
const runtimeSecret = setting('MILLRACE_RUNTIME_SECRET', 'the ARN of the secret with which the functions log in');
const appSecret = optionalSetting('MILLRACE_APP_SECRET');
const drain = listSetting('MILLRACE_DRAIN');
const db = openConfiguredDatabase({ max: 1, name: 'millrace-migrate', log: processLog });

/** The Lambda that a deployment runs before all others: it logs in as the owner of the database. */
export const handler = async (): Promise<void> => {
  const runtime = await readCredentials(runtimeSecret);
  const app = appSecret === undefined ? undefined : await readCredentials(appSecret);
  const logins = [
    { name: runtime.username, password: runtime.password, role: 'millrace_runtime' as const },
    ...(app ? [{ name: app.username, password: app.password, role: 'millrace_app' as const }] : []),
  ];
  const migration = { ...configuredAddress(), folder };
  await prepareDatabase({ db, migration, logins, catalog, drain, log: processLog });
};
