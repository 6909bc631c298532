import { Command, CommanderError } from 'commander';
import { messageOf } from '../core/failure.ts';
import { ownVersion } from '../core/own-files.ts';
import { onWriteError, write } from '../local/screen/writers.ts';
import { CommandFailure, EXIT, type ExitCode } from './command-failure.ts';
import { addCompletion } from './commands/completion.ts';
import { addDlq } from './commands/dlq.ts';
import { addDoctor } from './commands/doctor.ts';
import { addEnqueue } from './commands/enqueue.ts';
import { addHandlers } from './commands/handlers.ts';
import { addInit } from './commands/init.ts';
import { addJobs } from './commands/jobs.ts';
import { addKeys } from './commands/keys.ts';
import { addMail } from './commands/mail.ts';
import { addMigrate } from './commands/migrate.ts';
import { addOperations } from './commands/operations.ts';
import { addProcess } from './commands/process.ts';
import { addPsql } from './commands/psql.ts';
import { addRedrive } from './commands/redrive.ts';
import { addRedrives } from './commands/redrives.ts';
import { addSchedules } from './commands/schedules.ts';
import { addSql } from './commands/sql.ts';
import { addStats } from './commands/stats.ts';
import { addUp } from './commands/up.ts';
import { addUrl } from './commands/url.ts';
import type { GlobalOptions } from './global-options.ts';
import { examples, explainSubcommands } from './options/action.ts';
import { refuseReplaced } from './options/input.ts';
import { endOnInterrupt } from './screen/interrupt.ts';
import { refuseJsonLines } from './screen/json-lines.ts';
import { withoutPasswords } from './screen/passwords.ts';
import { printError, printMessage } from './screen/terminal.ts';

/** All commands, in the order of the help. */
const COMMANDS: readonly ((program: Command) => void)[] = [
  addInit,
  addUp,
  addUrl,
  addPsql,
  addSql,
  addEnqueue,
  addJobs,
  addDlq,
  addRedrive,
  addRedrives,
  addOperations,
  addSchedules,
  addStats,
  addHandlers,
  addProcess,
  addDoctor,
  addKeys,
  addMail,
  addMigrate,
  addCompletion,
];

const EXAMPLES = examples(
  'dev',
  `enqueue send_reminder '{"to": "ada@example.com", "subject": "Hello", "text": "A reminder"}' --in 5m`,
  'jobs list --status failed,dead_letter',
  'jobs show 1',
  'dlq',
  'redrive --job-type send_reminder --dry-run',
  'sql "select count(*) from millrace.jobs" --database-url postgres://user@host/name',
  'stats --api-url https://…',
);
const COMPLETION =
  '\nTab completion in bash (for zsh and fish: npx millrace completion --help): source <(npx millrace completion bash)';
const EXIT_CODES =
  '\nExit codes: 0 done, 1 failed or partly failed, 2 usage error, 3 not found, 4 not permitted, 5 wrong state,\n' +
  '6 not confirmed, 7 cannot reach the database, the API or SQS, 8 a check failed or a wait timed out, 130 interrupted.';

const SHORT_HELP = `Usage: npx millrace <command>

  dev                     run everything on this machine
  enqueue <type> [json]   insert a job and print its id
  jobs list               list jobs, newest first
  dlq                     count dead letters by kind of error
  redrive                 make dead jobs pending again
  doctor                  find what keeps jobs from running

All commands: npx millrace --help`;

/** Runs a command line and sets the exit code of the process. */
export async function run(args: readonly string[]): Promise<void> {
  endWithReader();
  if (args.length === 0) {
    write('stderr', `${SHORT_HELP}\n`);
    process.exitCode = EXIT.usage;
    return;
  }
  try {
    refuseReplaced(args);
    await openProgram().parseAsync(asHelpOption(args), { from: 'user' });
  } catch (error) {
    process.exitCode = report(error);
  }
}

/** Returns `jobs show --help` for `help jobs show`: commander's own help command takes one word. */
function asHelpOption(args: readonly string[]): readonly string[] {
  const [first, ...words] = args;
  return first === 'help' && words.length > 1 && words.every((word) => !word.startsWith('-'))
    ? [...words, '--help']
    : args;
}

/** Returns the program with all commands and options. */
export function openProgram(): Command {
  const program = new Command('millrace')
    .description('Background jobs on Postgres, SQS and Lambda')
    .version(ownVersion(), '-v, --version')
    .option('--database-url <url>', 'use this database; default DATABASE_URL, else the stack running in this folder')
    .option('--api-url <url>', 'use this API instead; default MILLRACE_API_URL; its key is read from MILLRACE_API_KEY')
    .option('--json', 'print one JSON document to standard output')
    .exitOverride()
    .hook('preAction', (_program, command) => refuseApi(command))
    .hook('preAction', (_program, command) =>
      HANDLE_INTERRUPT.includes(command.name()) ? undefined : endOnInterrupt(),
    )
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void write('stdout', text),
      writeErr: (text) => void write('stderr', text),
      outputError: (text) => printError(withoutPasswords(cutArgument(text.replace(/^error: /, '').trimEnd()))),
    })
    .addHelpText('after', EXAMPLES)
    .addHelpText('after', EXIT_CODES)
    .addHelpText('after', COMPLETION);
  for (const add of COMMANDS) add(program);
  explainSubcommands(program);
  refuseJsonLines(program);
  return program;
}

/** Commands that handle Ctrl-C themselves. */
const HANDLE_INTERRUPT = ['dev', 'psql'];

/** Commands for the stack on this machine, which no API provides. */
const ON_THIS_MACHINE = ['init', 'dev', 'mail'];

function refuseApi(command: Command): void {
  const name = [command.parent?.name(), command.name()].find((one) => ON_THIS_MACHINE.includes(one ?? ''));
  if (name === undefined || command.optsWithGlobals<GlobalOptions>().apiUrl === undefined) return;
  throw new CommandFailure(EXIT.usage, `${name} works on the stack on this machine: omit --api-url`);
}

/** Cuts arguments that commander repeats in an error, such as all files of a folder for which an unquoted * stands. */
function cutArgument(text: string): string {
  return text
    .replace(/(argument|value) '(.{60}).{20,}' is invalid/s, "$1 '$2…' is invalid")
    .replace(/(but got \d+: .{60}).{20,}?( Put an argument .*)?$/s, '$1…$2');
}

/** Usage errors, by code and not by class: the stack runs from its sources, which have their own classes. */
const USAGE_CODES: readonly unknown[] = ['MILLRACE_SETTING', 'MILLRACE_PAYLOAD'];

/** Failures whose sentences repeat arguments. */
const ABOUT_ARGUMENTS: readonly ExitCode[] = [EXIT.usage, EXIT.notFound];

/** Reports an error and returns the exit code. */
function report(error: unknown): ExitCode {
  // Commander has reported it already; --help and --version are not failures.
  if (error instanceof CommanderError && error.code === 'commander.unknownCommand') {
    printMessage('All commands: npx millrace --help');
  }
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (error instanceof CommandFailure) {
    const isTyped = ABOUT_ARGUMENTS.includes(error.exitCode);
    printError(isTyped ? withoutPasswords(error.message) : error.message);
    return error.exitCode;
  }
  printError(messageOf(error));
  return USAGE_CODES.includes((error as { code?: unknown } | null)?.code) ? EXIT.usage : EXIT.failed;
}

/** Ends quietly when `millrace jobs list | head -1` closes the pipe early, and reports a full disk. */
function endWithReader(): void {
  onWriteError((error) => {
    if (error.code === 'EPIPE') process.exit(process.exitCode ?? EXIT.done);
    printError(`cannot write to standard output: ${error.code === 'ENOSPC' ? 'the disk is full' : error.message}`);
    process.exit(EXIT.failed);
  });
}
