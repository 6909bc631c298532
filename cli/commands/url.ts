import type { Command } from 'commander';
import type { GlobalOptions } from '../global-options.ts';
import { action, examples } from '../options/action.ts';
import { toJson } from '../screen/json.ts';
import { print, suggest } from '../screen/terminal.ts';
import { findDatabase } from '../target/target.ts';

/** `millrace url`: prints the address of the database, with its password, for other programs. */
export function addUrl(program: Command): void {
  program
    .command('url')
    .description('print the address of the database, with its password')
    .addHelpText('after', `${examples('url')}\n  $ DATABASE_URL=$(npx millrace url) npx node place-order.ts`)
    .action(
      action(async (options: GlobalOptions) => {
        const { url } = await findDatabase(options);
        print(options.json ? toJson({ database_url: url }) : url);
        suggest('npx millrace psql');
        return undefined;
      }),
    );
}
