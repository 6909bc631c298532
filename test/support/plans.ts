import pg from 'pg';
import type { Database } from '../../core/postgres/database.ts';

interface Watched {
  /** The address of the database with the login of its owner. */
  readonly url: string;
  /** Default: millrace_runtime. */
  readonly role?: string;
}

/** Returns the text of the plans of the statements of `work`, including those inside functions. */
export function plansOf(watched: Watched, work: (db: Database) => Promise<unknown>): Promise<string[]> {
  return watch(watched, 'set auto_explain.log_nested_statements = on', work);
}

/** Returns how many pages of tables and indexes the statements of `work` read; a page read twice counts twice. */
export async function pagesOf(watched: Watched, work: (db: Database) => Promise<unknown>): Promise<number> {
  const plans = await watch(watched, 'set auto_explain.log_buffers = on', work);
  // The first line of a plan includes the pages of the lines below it.
  const counts = plans.map((plan) => /Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?/.exec(plan) ?? []);
  return counts.reduce((sum, [, hit, read]) => sum + Number(hit ?? 0) + Number(read ?? 0), 0);
}

async function watch({ url, role = 'millrace_runtime' }: Watched, setting: string, work: (db: Database) => unknown) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const plans: string[] = [];
  client.on('notice', ({ message = '' }) => plans.push(message));
  const query = async (text: string, values?: readonly unknown[]) => {
    const { rows, rowCount } = await client.query(text, [...(values ?? [])]);
    return { rows, rowCount: rowCount ?? 0 } as never;
  };
  try {
    await client.query(`load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_analyze = on;
      set auto_explain.log_timing = off; ${setting}; set client_min_messages = 'log'; set role ${role}`);
    await work({ query, transaction: (inner) => inner({ query }), close: async () => undefined });
  } finally {
    await client.end();
  }
  return plans;
}
