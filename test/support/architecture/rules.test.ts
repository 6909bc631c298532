import { expect, it } from 'vitest';
import { clientMaker } from './client-makers.ts';
import { elapsedTime } from './elapsed-time.ts';
import { consoleWriter, environmentReader, terminalWriter } from './environment.ts';
import { importDirection, importSuffix, keptApart, moduleOwner, noFetchInInfra } from './imports.ts';
import { loopbackServers } from './listeners.ts';
import { modeWords } from './mode-words.ts';
import { bannedNames, kebabCase } from './names.ts';
import { ownSessions } from './own-sessions.ts';
import { roomDirection } from './rooms.ts';
import { RULES } from './rules.ts';
import { fileLines, lineColumns } from './sizes.ts';
import { type Rule, sourceFile } from './source-file.ts';
import { sqlApart, sqlConstant, sqlHome, sqlNamed } from './sql.ts';

const LONG = 'x'.repeat(130);

type Case = [rule: Rule, path: string, text: string];

const PLANTED: Case[] = [
  [importDirection, 'core/claim.ts', "import { up } from '../local/up.ts';"],
  [importDirection, 'core/jobs/claim.ts', "export { up } from '../../functions/api.ts';"],
  [importDirection, 'functions/api.ts', "import type { Stack } from '../infra/stack.ts';"],
  [importDirection, 'infra/app.ts', "const up = await import('../local/up.ts');"],
  [importDirection, 'local/up.ts', "import '../infra/app.ts';"],
  [importDirection, 'local/up.ts', "import '../cli/main.ts';"],
  [importDirection, 'cli/main.ts', "let url: import('../test/support/database.ts').Url;"],
  [moduleOwner, 'core/jobs/claim.ts', "import type { Pool } from 'pg';"],
  [moduleOwner, 'core/jobs/claim.ts', "import type Pool from 'pg-pool';"],
  [moduleOwner, 'core/aws/queues.ts', "import { LambdaClient } from '@aws-sdk/client-lambda';"],
  [clientMaker, 'core/postgres/database.ts', "import Client from 'pg/lib/client.js';"],
  [clientMaker, 'core/postgres/pool.ts', "import Pool from 'pg-pool';"],
  [clientMaker, 'core/postgres/connect.ts', "import pg from 'pg';"],
  [clientMaker, 'local/up.ts', "const { LambdaClient } = await import('@aws-sdk/client-lambda');"],
  [moduleOwner, 'core/handler/handler.ts', "import { Duration } from 'aws-cdk-lib';"],
  [roomDirection, 'core/jobs/claim.ts', "import { dispatch } from '../dispatch/dispatch.ts';"],
  [roomDirection, 'core/log.ts', "import type { Registration } from './registry/register-handlers.ts';"],
  [
    sqlApart,
    'core/jobs/claim.ts',
    "import { send } from '../aws/queues.ts';\nconst COUNT = 'select count(*) from jobs';",
  ],
  [keptApart, 'infra/stack.ts', "import { openDatabase } from '../core/postgres/database.ts';"],
  [keptApart, 'infra/plan/alarms.ts', "import { Duration } from 'aws-cdk-lib';"],
  [keptApart, 'infra/settings/settings.ts', "import type { Api } from '../constructs/api.ts';"],
  [keptApart, 'infra/settings/settings.ts', "import type { MillraceProps } from '../millrace.ts';"],
  [importSuffix, 'core/claim.ts', "import { toJob } from './job';"],
  [noFetchInInfra, 'infra/stack.ts', "await fetch('https://example.com');"],
  [bannedNames, 'core/utils.ts', ''],
  [bannedNames, 'local/shared/clock.ts', ''],
  [bannedNames, 'test/support/types.test.ts', ''],
  [bannedNames, 'core/queue-manager.ts', ''],
  [kebabCase, 'core/runBatch.ts', ''],
  [kebabCase, 'core/run_batch.ts', ''],
  [kebabCase, 'local/Postgres/ready.ts', ''],
  [kebabCase, 'migrations/jobs.sql', 'V1__jobs'],
  [kebabCase, 'migrations/0001_Jobs.sql', ''],
  [fileLines, 'core/claim.ts', 'f();\n'.repeat(201)],
  [lineColumns, 'core/claim.ts', `// ${LONG}`],
  [lineColumns, 'core/claim.ts', `const sql = \`select\n${LONG}\`;`],
  [lineColumns, 'core/claim.ts', `f('short', ${LONG});`],
  [sqlHome, 'functions/dispatcher.ts', "const COUNT = 'select count(*) from millrace.jobs';"],
  [sqlHome, 'cli/commands/jobs.ts', 'const FIND = `\n  -- by id\n  select id from jobs`;'],
  [sqlHome, 'local/up.ts', "db.query('insert into millrace.jobs (job_type) values ($1)');"],
  [sqlHome, 'api/jobs.ts', "db.query('update millrace.jobs j set priority = 1');"],
  [sqlHome, 'api/jobs.ts', "db.query('delete from millrace.jobs');"],
  [sqlHome, 'api/prune.ts', "db.query('truncate millrace.jobs_finished_01');"],
  [sqlHome, 'api/prune.ts', "db.query('with old as materialized (select 1) select 1');"],
  [sqlHome, 'api/schedules.ts', "db.query('create index on millrace.jobs (id)');"],
  [sqlConstant, 'core/jobs/claim.ts', ['const CLAIM = `select id from ', '{table}`;'].join('$')],
  [sqlConstant, 'core/jobs/claim.ts', ['const CLAIM = `update ', '{table} set slot = 0`;'].join('$')],
  [sqlNamed, 'core/jobs/claim.ts', "db.query('select id from millrace.jobs');"],
  [sqlNamed, 'core/jobs/claim.ts', "const claim = 'select id from millrace.jobs';"],
  [sqlNamed, 'core/jobs/claim.ts', "const CLAIM = 'select id from millrace.jobs' + where;"],
  [sqlNamed, 'core/jobs/claim.ts', "const CLAIM = 'SELECT id FROM millrace.jobs';"],
  [environmentReader, 'core/claim.ts', 'f(process.env.DATABASE_URL);'],
  [environmentReader, 'functions/api.ts', "f(process['env']);"],
  [environmentReader, 'infra/stack.ts', 'const { env } = process;'],
  [environmentReader, 'core/claim.ts', "import { env } from 'node:process';"],
  [environmentReader, 'cli/main.ts', 'f(process.env.DATABASE_URL);'],
  [environmentReader, 'core/claim.ts', 'f(process.env.PATH);'],
  [consoleWriter, 'core/claim.ts', "console.log('claimed');"],
  [consoleWriter, 'functions/api.ts', "console.error('failed');"],
  [loopbackServers, 'local/mailbox/mailbox.ts', 'const server = new SMTPServer({});'],
  [loopbackServers, 'cli/commands/up.ts', "server.listen(8080, '0.0.0.0');"],
  [terminalWriter, 'cli/commands/sql.ts', 'process.stdout.write(notice);'],
  [terminalWriter, 'local/screen/banner.ts', "f(process['stdout']);"],
  [modeWords, 'core/claim.ts', 'if (isLocal) f();'],
  [modeWords, 'core/claim.ts', "if (stage === 'test') f();"],
  [modeWords, 'infra/stack.ts', 'const EMULATOR_URL = 1;'],
  [modeWords, 'functions/api.ts', '// The emulator answers differently.'],
  [modeWords, 'core/local-queue.ts', ''],
  [elapsedTime, 'test/core/claim.test.ts', 'expect(performance.now() - begun).toBeLessThan(80);'],
  [elapsedTime, 'test/life/kill.story.ts', 'const took = Date.now() - begun;'],
  [ownSessions, 'test/core/claim.test.ts', 'f(`select pid from pg_stat_activity`, [`datname`]);'],
];

it.each(PLANTED.map(([rule, path, text]) => ({ rule, path, text })))('"$rule.name" rejects $path: $text', (planted) => {
  const { rule, path, text } = planted;
  const file = sourceFile(path, text);

  const found = rule.check(file);

  expect(found.map((violation) => violation.path)).toEqual([path]);
});

const RIGHT: Case[] = [
  [importDirection, 'core/jobs/claim.ts', "import { toJob } from '../job.ts';\nimport { z } from 'zod';"],
  [importDirection, 'functions/api.ts', "import { api } from '../api/app.ts';\nimport { c } from '../core/config.ts';"],
  [
    importDirection,
    'local/functions/build-bundle.ts',
    "import { bundleOptions } from '../../infra/bundle/options.ts';",
  ],
  [importDirection, 'cli/main.ts', "const { up } = await import('../local/up.ts');"],
  [importDirection, 'test/life/kill.test.ts', "import { up } from '../../local/up.ts';"],
  [clientMaker, 'core/postgres/connect.ts', "import Client from 'pg/lib/client.js';\nimport Pool from 'pg-pool';"],
  [clientMaker, 'core/postgres/connect.ts', "import type pg from 'pg';"],
  [moduleOwner, 'core/postgres/database.ts', "import pg from 'pg';"],
  [moduleOwner, 'infra/stack.ts', "import { Stack } from 'aws-cdk-lib';"],
  [moduleOwner, 'core/text.ts', "const text = `import pg from 'pg'`; // import 'pg'"],
  [keptApart, 'infra/plan/alarms.ts', "import { timingOf } from '../../core/handler/timing.ts';"],
  [roomDirection, 'core/dispatch/dispatch.ts', "import { claim } from '../jobs/claim.ts';"],
  [roomDirection, 'core/index.ts', "export { enqueue } from './enqueue/enqueue.ts';"],
  [
    sqlApart,
    'core/jobs/claim.ts',
    "import type { Queryable } from '../postgres/database.ts';\nconst A = 'select a from b';",
  ],
  [keptApart, 'infra/plan/alarms.ts', "import { functionName } from '../../core/handler/naming.ts';"],
  [keptApart, 'infra/constructs/api.ts', "import { Duration } from 'aws-cdk-lib';"],
  [importSuffix, 'core/claim.ts', "import { toJob } from './job.ts';\nimport { z } from 'zod';"],
  [noFetchInInfra, 'local/up.ts', "await fetch('http://127.0.0.1');"],
  [bannedNames, 'core/jobs/list-job-types.ts', ''],
  [bannedNames, 'core/postgres/database.ts', ''],
  [kebabCase, 'migrations/0001_jobs.sql', ''],
  [kebabCase, 'test/core/run/run-batch.test.ts', ''],
  [fileLines, 'core/claim.ts', 'f();\n'.repeat(200)],
  [fileLines, 'migrations/0001_jobs.sql', 'select 1;\n'.repeat(900)],
  [lineColumns, 'core/errors.ts', `throw new Error('${LONG}');`],
  [lineColumns, 'cli/millrace.js', `refuse('${'x'.repeat(109)}');`],
  [sqlHome, 'core/jobs/claim.ts', "const CLAIM = 'select id from millrace.jobs';"],
  [sqlHome, 'cli/main.ts', "printLine('select a job from the list');\nprintLine('Update the handler.');"],
  [
    sqlHome,
    'local/screen/banner.ts',
    'printLine(\'npx millrace sql "insert into millrace.jobs (job_type) values (1)"\');',
  ],
  [sqlConstant, 'test/support/database.ts', ['f(`create database ', '{name}`);'].join('$')],
  [sqlNamed, 'core/jobs/claim.ts', 'const CLAIM_DUE_JOBS = `\n  -- In key order.\n  select id from millrace.jobs`;'],
  [environmentReader, 'core/config.ts', 'f(process.env);'],
  [environmentReader, 'local/postgres/launch.ts', "const env = { PATH: process.env.PATH ?? '' };"],
  [environmentReader, 'local/lambda/pool.ts', 'const { env } = settings;'],
  [consoleWriter, 'core/log.ts', 'console.log(line);'],
  [consoleWriter, 'bench/main.ts', "console.log('usage');"],
  [terminalWriter, 'local/screen/writers.ts', 'process.stdout.write(visible(text));'],
  [modeWords, 'core/claim.ts', "const latest = /x/.test('y'); const attempt = 1;"],
  [modeWords, 'core/postgres/migrate.ts', 'const BECOME_OWNER = `set local role millrace_owner`;'],
  [modeWords, 'functions/addresses.ts', "const LINK_LOCAL = 'a link-local address'; // link-local"],
  [modeWords, 'core/run/owner.ts', 'const owners = new AsyncLocalStorage<Owner>();'],
  [modeWords, 'local/up.ts', 'const isLocal = true;'],
  [elapsedTime, 'test/core/claim.test.ts', 'const since = Date.now() - 3_600_000;'],
  [loopbackServers, 'local/sqs/server.ts', 'const server = await listenOnLoopback(0, answer);'],
  [elapsedTime, 'test/support/eventually.ts', 'const deadline = performance.now() + timeout;'],
  [ownSessions, 'test/core/claim.test.ts', 'f(`select from pg_stat_activity\nwhere datname = current_database()`);'],
];

it.each(RIGHT.map(([rule, path, text]) => ({ rule, path, text })))('"$rule.name" accepts $path: $text', (right) => {
  const { rule, path, text } = right;
  const file = sourceFile(path, text);

  const found = rule.check(file);

  expect(found).toEqual([]);
});

it('every rule has a case that it rejects and one that it accepts', () => {
  const objecting = new Set(PLANTED.map(([rule]) => rule));
  const accepting = new Set(RIGHT.map(([rule]) => rule));

  expect(RULES.filter((rule) => !objecting.has(rule) || !accepting.has(rule))).toEqual([]);
});

it('a violation names its line', () => {
  const found = moduleOwner.check(sourceFile('core/claim.ts', "\n\nimport pg from 'pg';"));

  expect(found).toEqual([
    {
      ...{ path: 'core/claim.ts', line: 3 },
      message:
        'imports pg; only core/postgres/connect.ts or core/postgres/database.ts or core/postgres/pool.ts or ' +
        'core/postgres/run-text.ts or core/postgres/transaction.ts does',
    },
  ]);
});

it('sourceFile throws for a file that does not parse', () => {
  expect(() => sourceFile('core/claim.ts', 'const = 1')).toThrow(/core\/claim\.ts does not parse/);
});
