import { MigrationError } from '../errors.ts';
import type { Database } from './database.ts';

const FIND_BUILD = `
  select from pg_catalog.pg_stat_progress_create_index p
    join pg_catalog.pg_class c on c.oid = p.relid
    where p.datname = current_database() and c.relnamespace = 'millrace'::regnamespace`;
const FIND_INVALID_INDEXES = `
  select format('drop index concurrently if exists millrace.%I', c.relname) as command
    from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indexrelid
    where not i.indisvalid and c.relnamespace = 'millrace'::regnamespace and c.relname = any($1::text[])
    order by c.relname`;
const POLL_EVERY_MS = 200;
const BUILD = /^create\s+(?:unique\s+)?index\s+concurrently\s+if\s+not\s+exists\s+(\w+)\s+on\s/i;
const DROP = /^drop\s+index\s+concurrently\s+if\s+exists\s/i;

/**
 * Builds and drops indexes one by one, outside a transaction. An index always belongs to the owner of its table. A
 * build whose client was killed continues in the server, so this waits for it; an invalid index is dropped and rebuilt.
 * @throws MigrationError when a statement does anything else or is not repeatable, or an index is invalid at the end.
 */
export async function buildIndexes(db: Database, statements: readonly string[]): Promise<void> {
  const names = statements.flatMap(builtBy);
  while ((await db.query(FIND_BUILD)).rowCount > 0) await new Promise((next) => setTimeout(next, POLL_EVERY_MS));
  for (const command of await findInvalid(db, names)) await db.command(command);
  for (const statement of statements) await db.command(statement);
  const [command] = await findInvalid(db, names);
  if (command) throw new MigrationError(`an index is invalid: run \`${command}\`, then migrate again`);
}

function builtBy(statement: string): string[] {
  const [, name] = BUILD.exec(statement) ?? [];
  if (name !== undefined) return [name.toLowerCase()];
  if (DROP.test(statement)) return [];
  throw new MigrationError(
    'outside a transaction, a migration may contain only `create index concurrently if not exists <name> on …` and ' +
      `\`drop index concurrently if exists …\`, because they may run twice, got \`${statement}\``,
  );
}

async function findInvalid(db: Database, names: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ command: string }>(FIND_INVALID_INDEXES, [names]);
  return rows.map(({ command }) => command);
}
