import type { Command } from 'commander';
import { messageOf } from '../../core/failure.ts';
import { withBackend } from '../backend/open.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import { failedCheck } from '../doctor/attempt-check.ts';
import { type DoctorOptions, type ExpectedStage, findExpectedStage, knowsJobs } from '../doctor/expected-stage.ts';
import type { Finding } from '../doctor/findings.ts';
import { action, examples } from '../options/action.ts';
import { toJson } from '../screen/json.ts';
import { canSuggest, print, printRows, suggest, warn } from '../screen/terminal.ts';

/** `millrace doctor` */
export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description(
      'find what keeps jobs from running, and which deployed resources differ from the code; exit code 8 if a check ' +
        'fails or cannot run, but not for a warning, such as a dead letter',
    )
    .option('--stage <name>', 'check this stage on AWS, with the AWS credentials in the environment')
    .option(
      '--handlers <folder>',
      'with --stage: the folder of its handler files; default that in cdk.json, else the nearest jobs or functions/handlers',
    )
    .addHelpText('after', examples('doctor', 'doctor --json', 'doctor --stage prod', 'doctor --api-url https://…'))
    .action(
      action(async (options: DoctorOptions) => {
        const findings = await examine(options);
        const wrong = findings.filter(({ ok }) => !ok);
        if (options.json) print(toJson({ checks: findings }));
        else printRows(['', 'CHECK', 'RESULT'], findings.map(rowOf));
        const first = wrong.toSorted((one, other) => Number(one.warning ?? false) - Number(other.warning ?? false));
        const next = first.find((finding) => finding.next !== undefined)?.next;
        if (next !== undefined) suggest(next);
        return wrong.some(({ warning }) => !warning) ? EXIT.checkFailed : EXIT.done;
      }),
    );
}

/** Returns the row of a finding, with what to do if its check failed. */
export function rowOf({ check, ok, warning, detail, next }: Finding): readonly string[] {
  const todo = ok || next === undefined || !canSuggest(next) ? '' : `: ${next}`;
  return [ok ? 'OK' : warning ? 'WARN' : 'FAIL', check, detail + todo];
}

async function examine(options: DoctorOptions): Promise<Finding[]> {
  const expected = await findExpectedStage(options);
  const known = knowsJobs(options);
  const stored = known ? await examineJobs(options, expected) : [];
  if (expected === undefined) return stored;
  // Loaded here: it imports three AWS clients.
  const { checkDeployment } = await import('../doctor/check-deployment.ts');
  const deployed = await checkDeployment(expected).catch((error: unknown) => {
    if (!known) throw error;
    return [{ check: 'AWS', ok: false, detail: `not checked: ${messageOf(error)}` }];
  });
  if (!known) warn('the database is not checked: name it with --database-url, or an API with --api-url');
  return [...stored, ...deployed];
}

/** Returns what is found before the connection fails, and its failure as a finding. @throws for a usage error. */
async function examineJobs(options: DoctorOptions, expected: ExpectedStage | undefined): Promise<Finding[]> {
  const found: Finding[] = [];
  try {
    await withBackend(options, async (backend) => {
      for await (const finding of backend.examine(expected)) found.push(finding);
    });
  } catch (error) {
    if (error instanceof CommandFailure && error.exitCode === EXIT.usage) throw error;
    found.push(failedCheck('connection', error));
  }
  return found;
}
