import type { Command } from 'commander';
import { optionalSetting } from '../../core/config.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { action, examples } from '../options/action.ts';
import { printMessage } from '../screen/terminal.ts';
import { readAddress } from '../target/database-address.ts';

const NOT_BOTH =
  'use --fresh or --database-url, not both: --fresh deletes only what this folder contains. To start from scratch on ' +
  'your database, run drop schema millrace cascade on it';

const NOT_USED =
  'DATABASE_URL of this shell is not used: the stack starts a Postgres of its own. To run it on that database, use ' +
  'npx millrace dev --database-url. Other commands in a shell with this variable use that database, not this stack: ' +
  'unset it there';

interface UpFlags {
  readonly fresh?: boolean;
  readonly fastRetries?: boolean;
  readonly handlers?: string;
}

/** `millrace dev`: runs the whole product on this machine, until Ctrl-C. */
export function addUp(program: Command): void {
  program
    .command('dev')
    .description('run everything on this machine: database, queues, functions, dispatcher')
    .option('--fresh', 'start from scratch: delete the data of earlier runs')
    .option('--handlers <folder>', 'the folder of the handler files; default jobs, else functions/handlers')
    .option('--fast-retries', 'divide every retry delay by 60')
    .addHelpText(
      'after',
      examples('dev', 'dev --fresh --fast-retries', 'dev --database-url postgres://postgres@127.0.0.1/app'),
    )
    .action(
      action(async ({ fresh = false, fastRetries = false, databaseUrl, ...rest }: UpFlags & GlobalOptions) => {
        if (databaseUrl !== undefined) {
          if (fresh) throw new CommandFailure(EXIT.usage, NOT_BOTH);
          readAddress(databaseUrl, '--database-url');
        } else if (optionalSetting('DATABASE_URL') !== undefined) printMessage(NOT_USED);
        // Loaded here: it imports esbuild and the servers.
        const { up } = await import('../../local/up.ts');
        return up({ fresh, fastRetries, databaseUrl, cwd: process.cwd(), ...rest });
      }),
    );
}
