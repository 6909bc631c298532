import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { environmentOfPsql } from '../../core/config.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { action, examples, rewordErrors } from '../options/action.ts';
import { connectionText, libpqConnection } from '../target/libpq.ts';
import { findDatabase } from '../target/target.ts';

const HINT = '; put the arguments for psql after --, such as npx millrace psql -- -c "select 1"';

/**
 * `millrace psql`: opens psql with the connection of every other command, and without the password in an argument,
 * which every account on the machine can read.
 */
export function addPsql(program: Command): void {
  rewordErrors(program.command('psql'), (text) => `${text.trimEnd()}${HINT}\n`)
    .argument('[arguments...]', 'arguments for psql, after --')
    .description('open psql without exposing the password in the process list')
    .addHelpText('after', examples('psql', `psql -- -c '\\d millrace.jobs'`))
    .action(action(runPsql));
}

async function runPsql(options: GlobalOptions, given: readonly string[]): Promise<number> {
  const { parameters, password, authorities } = libpqConnection((await findDatabase(options)).url);
  if (authorities === undefined) return runUntilExit(parameters, password, given);
  // psql reads the file again for each connection, so it remains until psql exits.
  const folder = await mkdtemp(join(tmpdir(), 'millrace-psql-'));
  try {
    const sslrootcert = join(folder, 'authorities.pem');
    await writeFile(sslrootcert, authorities);
    return await runUntilExit({ ...parameters, sslrootcert }, password, given);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runUntilExit(
  parameters: Readonly<Record<string, string>>,
  password: string,
  given: readonly string[],
): Promise<number> {
  const env = environmentOfPsql(password);
  const psql = spawn('psql', [connectionText(parameters), ...given], { stdio: 'inherit', env });
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
