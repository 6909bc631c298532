import type { Command } from 'commander';
import { openLog } from '../../core/log.ts';
import { migrate, migrationStatus } from '../../core/postgres/migrate.ts';
import { EXIT } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { action, examples } from '../options/action.ts';
import { toJson } from '../screen/json.ts';
import { print, printHint, printMessage, printRows, suggest, warn } from '../screen/terminal.ts';
import { databaseFailure } from '../target/database-failure.ts';
import { findDatabase, withDatabase } from '../target/target.ts';

/** `millrace migrate` and `millrace migrate status` */
export function addMigrate(program: Command): void {
  const command = program
    .command('migrate')
    .description('migrate the database to the schema of this release')
    .addHelpText('after', examples('migrate', 'migrate status'))
    .action(action(runMigrate));
  command
    .command('status')
    .description('show which migrations are applied; exit code 1 if any is missing or has changed')
    .addHelpText('after', examples('migrate status', 'migrate status --json'))
    .action(action(showStatus));
}

async function runMigrate(options: GlobalOptions): Promise<undefined> {
  const address = await findDatabase(options);
  printHint(`Database: ${address.label}`);
  const log = openLog(() => undefined);
  const result = await migrate({ connectionString: address.url, log }).catch((error: unknown) => {
    throw databaseFailure(error, address);
  });
  if (options.json) print(toJson(result));
  else for (const name of result.applied) print(name);
  if (result.applied.length === 0) printMessage('nothing to apply');
  if (result.ahead.length > 0) warn(`the database has migrations from a newer release: ${result.ahead.join(', ')}`);
  suggest('npx millrace migrate status');
  return undefined;
}

async function showStatus(options: GlobalOptions): Promise<number> {
  const status = await withDatabase(options, (db) => migrationStatus(db));
  const rows = status.map(({ name, state, appliedAt }) => ({ name, state, applied_at: appliedAt }));
  if (options.json) print(toJson(rows));
  else
    printRows(
      ['MIGRATION', 'STATE', 'APPLIED'],
      rows.map(({ name, state, applied_at }) => [name, state, applied_at]),
    );
  if (status.some(({ state }) => state === 'pending')) suggest('npx millrace migrate');
  const good = status.every(({ state }) => state === 'applied' || state === 'ahead');
  return good ? EXIT.done : EXIT.failed;
}
