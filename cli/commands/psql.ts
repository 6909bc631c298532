import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Command } from 'commander';
import { environmentWith } from '../../core/config.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { action, examples } from '../options/action.ts';
import { findDatabase } from '../target/target.ts';

/**
 * `millrace psql`: opens psql. Every account on the machine can read the arguments of a process, so they do not contain
 * the password.
 */
export function addPsql(program: Command): void {
  program
    .command('psql')
    .argument('[arguments...]', 'arguments of psql, after --')
    .description('open psql without exposing the password in the process list')
    .addHelpText('after', examples('psql', `psql -- -c '\\d millrace.jobs'`))
    .action(action(runPsql));
}

async function runPsql(options: GlobalOptions, given: readonly string[]): Promise<number> {
  const { address, password } = splitPassword((await findDatabase(options)).url);
  const env = environmentWith(password === undefined ? {} : { PGPASSWORD: password });
  const psql = spawn('psql', [address, ...given], { stdio: 'inherit', env });
  // psql cancels a statement on Ctrl-C and continues.
  const pass = (): void => void psql.kill('SIGINT');
  process.on('SIGINT', pass);
  try {
    const [code] = await once(psql, 'exit').catch(explain);
    return code ?? EXIT.interrupted;
  } finally {
    process.off('SIGINT', pass);
  }
}

function explain(error: NodeJS.ErrnoException): never {
  if (error.code !== 'ENOENT') throw error;
  const sentence = 'psql is not on the PATH: install the Postgres client, or use millrace sql';
  throw new CommandFailure(EXIT.failed, sentence, { cause: error });
}

/** Separates the password from an address. libpq reads it from two places in the address. */
function splitPassword(url: string): { address: string; password: string | undefined } {
  const parsed = new URL(url);
  const inQuery = parsed.searchParams.get('password');
  const password = inQuery ?? (parsed.password === '' ? undefined : decodeURIComponent(parsed.password));
  parsed.password = '';
  if (inQuery !== null) parsed.searchParams.delete('password');
  return { address: parsed.href, password };
}
