import { enqueue, enqueueMany } from '../../core/enqueue/enqueue.ts';
import { appOf, type Reply } from '../api/world.ts';
import { runCli } from '../cli/run-cli.ts';
import { type Engine, openDatabaseEngine, QUEUE } from '../support/database-engine.ts';

/** A job as a producer writes it, the same for every interface. */
export interface Wish {
  /** Default: `work`. */
  readonly jobType?: string;
  /** JSON text. Default: `{}`. */
  readonly payload?: string;
  readonly runAt?: string;
  /** A time; the library, the API and the command line accept a duration, too. */
  readonly startBy?: string;
  readonly uniqueKey?: string;
  readonly uniqueBy?: 'payload';
  readonly uniqueFor?: string;
  readonly uniqueUntil?: 'dispatched' | 'dead_letter' | 'finished';
  readonly onConflict?: 'skip' | 'replace';
  readonly groupKey?: string;
  readonly routingKey?: string;
  readonly priority?: number;
  readonly maxAttempts?: number;
  readonly onDeadLetter?: string;
}

export type Answer = { readonly id: string } | { readonly refused: string };
export type Door = (wish: Wish) => Promise<Answer>;

export interface Doors {
  readonly engine: Engine;
  /** SQL: each accepts what Postgres accepts, and the handler checks it. */
  readonly sql: Readonly<Record<string, Door>>;
  /** The library gets a value that JavaScript parsed. */
  readonly library: Readonly<Record<string, Door>>;
  /** The API and the command line get JSON text and check it. */
  readonly text: Readonly<Record<string, Door>>;
  readonly ask: (path: string, body?: string | Buffer) => Promise<Pick<Reply, 'status' | 'text' | 'body'>>;
  readonly cli: (args: readonly string[], input?: string | Buffer) => ReturnType<typeof runCli>;
}

/** Opens one database with the engine, the API and the command line, all in this process. */
export async function openDoors(): Promise<Doors> {
  const engine = await openDatabaseEngine({ maxAttempts: 3 });
  const app = appOf(engine);
  const ask: Doors['ask'] = async (path, body) => {
    const headers = { 'content-type': 'application/json' };
    const init = body === undefined ? {} : { method: 'POST', body: new Uint8Array(Buffer.from(body)), headers };
    const response = await app.fetch(new Request(`http://api.example${path}`, init));
    const text = await response.text();
    const isJson = /json/.test(response.headers.get('content-type') ?? '');
    return { status: response.status, text, body: isJson ? JSON.parse(text) : undefined };
  };
  const cli: Doors['cli'] = (args, input = '') => runCli(args, { env: { DATABASE_URL: engine.database.url }, input });
  return { engine, sql: sqlDoors(engine), library: libraryDoors(engine), text: textDoors(ask, cli), ask, cli };
}

const accepted = (answer: Promise<string>): Promise<Answer> =>
  answer.then(
    (id) => ({ id }),
    (error: Error) => ({ refused: error.message }),
  );

function sqlDoors({ sql }: Engine): Doors['sql'] {
  const run = (text: string, values: unknown[]) => accepted(sql<{ id: string }>(text, values).then(([row]) => row!.id));
  return {
    'a plain insert': (wish) => {
      const members = columnsOf({ payload: '{}', ...wish });
      const places = members.map(([name], n) => (name === 'payload' ? `$${n + 1}::text::jsonb` : `$${n + 1}`));
      const names = members.map(([name]) => name);
      return run(
        `insert into millrace.jobs (job_type, ${names}) values ('${typeOf(wish)}', ${places}) returning id`,
        members.map(([, value]) => value),
      );
    },
    'millrace.enqueue': (wish) => {
      const members = columnsOf({ payload: '{}', ...wish });
      const given = members.map(([name], n) => `${name} => $${n + 1}${name === 'payload' ? '::text::jsonb' : ''}`);
      return run(
        `select id from millrace.enqueue('${typeOf(wish)}', ${given})`,
        members.map(([, value]) => value),
      );
    },
    'millrace.enqueue_many': (wish) =>
      run('select id from millrace.enqueue_many($1::text::jsonb)', [`[${bodyOf(wish)}]`]),
  };
}

function libraryDoors({ database: { pool }, definition }: Engine): Doors['library'] {
  const options = ({ runAt, startBy, payload: _, routingKey: __, jobType: ___, ...rest }: Wish) => ({
    ...rest,
    ...(runAt !== undefined && { runAt: new Date(runAt) }),
    ...(startBy !== undefined && { startBy: /^\d+[smhd]$/.test(startBy) ? startBy : new Date(startBy) }),
  });
  const addressed = ({ routingKey, jobType }: Wish) => ({
    ...definition,
    ...(routingKey !== undefined && { routingKey }),
    ...(jobType !== undefined && { jobType }),
  });
  const parsed = ({ payload = '{}' }: Wish): unknown => JSON.parse(payload);
  return {
    enqueue: (wish) => accepted(enqueue(pool, addressed(wish), parsed(wish), options(wish)).then(({ id }) => id)),
    enqueueMany: (wish) => {
      const item = { handler: addressed(wish), payload: parsed(wish), ...options(wish) };
      return accepted(enqueueMany(pool, [item]).then(([one]) => one!.id));
    },
  };
}

function textDoors(ask: Doors['ask'], cli: Doors['cli']): Doors['text'] {
  const typed = async (wish: Wish, payload: string, input?: string): Promise<Answer> => {
    const { payload: _, ...rest } = wish;
    const flags = columnsOf(rest).flatMap(([name, value]) => {
      return [`--${name === 'run_at' ? 'at' : name.replaceAll('_', '-')}`, `${value}`];
    });
    const { code, stdout, stderr } = await cli(['enqueue', typeOf(wish), payload, ...flags], input);
    return code === 0 ? { id: stdout.trim() } : { refused: stderr };
  };
  return {
    'POST /jobs': async (wish) => {
      const { status, body } = await ask('/jobs', bodyOf(wish));
      return status < 300 ? { id: body.id } : { refused: body.detail };
    },
    'POST /jobs/bulk': async (wish) => {
      const { status, body } = await ask('/jobs/bulk', `{"jobs": [${bodyOf(wish)}]}`);
      return status < 300 ? { id: body.items[0].id } : { refused: body.detail };
    },
    'millrace enqueue': (wish) => typed(wish, wish.payload ?? '{}'),
    'millrace enqueue -': (wish) => typed(wish, '-', wish.payload ?? '{}'),
  };
}

/** Returns the columns of a job that the producer names. */
function columnsOf(wish: Wish): [string, unknown][] {
  const all: [string, unknown][] = [
    ['payload', wish.payload],
    ['run_at', wish.runAt],
    ['start_by', wish.startBy],
    ['unique_key', wish.uniqueKey],
    ['unique_by', wish.uniqueBy],
    ['unique_for', wish.uniqueFor],
    ['unique_until', wish.uniqueUntil],
    ['on_conflict', wish.onConflict],
    ['group_key', wish.groupKey],
    ['routing_key', wish.routingKey],
    ['priority', wish.priority],
    ['max_attempts', wish.maxAttempts],
    ['on_dead_letter', wish.onDeadLetter],
  ];
  return all.filter(([, value]) => value !== undefined);
}

function typeOf({ jobType = 'work' }: Wish): string {
  return jobType;
}

function bodyOf({ payload = '{}', ...wish }: Wish): string {
  const rest = JSON.stringify({ job_type: typeOf(wish), ...Object.fromEntries(columnsOf(wish)) });
  return `${rest.slice(0, -1)}, "payload": ${payload}}`;
}

export interface Ended {
  readonly status: string;
  /** Whether Postgres stores the value that was sent. */
  readonly isKept: boolean;
  readonly got: unknown;
  readonly error: string | null;
}

/** Calls each interface in turn; returns the answers by name. */
export async function each<Result>(
  doors: Readonly<Record<string, Door>>,
  work: (door: Door) => Promise<Result>,
): Promise<Record<string, Result>> {
  const answers: Record<string, Result> = {};
  for (const [name, door] of Object.entries(doors)) answers[name] = await work(door);
  return answers;
}

/** Returns the same expectation for each interface. */
export function same<Value>(doors: Readonly<Record<string, Door>>, value: Value): Record<string, Value> {
  return Object.fromEntries(Object.keys(doors).map((name) => [name, value]));
}

/** Runs the accepted job in its handler; returns whether the value is that of `sent`, and how the job ended. */
export async function run(engine: Engine, answer: Answer, sent = 'null'): Promise<Ended> {
  if ('refused' in answer) throw new Error(answer.refused);
  const [row] = await engine.sql<{ isKept: boolean }>(
    'select payload = $2::jsonb as "isKept" from millrace.jobs where id = $1',
    [answer.id, sent],
  );
  let got: unknown = 'the handler did not run';
  engine.work = ({ payload }) => {
    got = payload;
  };
  await engine.dispatch();
  await engine.run(engine.queues.receive(QUEUE));
  const { status, last_error: error } = await engine.state(answer.id);
  return { status, isKept: row!.isKept, got, error };
}
